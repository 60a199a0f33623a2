"""Three objectives of Microsoft's ADBench: C sources, instances, independent derivatives, and the demonstration."""
