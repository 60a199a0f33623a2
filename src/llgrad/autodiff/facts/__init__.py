"""All that analyses say of one program, and what each reverse asks for."""
