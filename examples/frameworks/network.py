"""PyTorch: a network whose recurrent layer is C code learns to spell, from this project's own documentation.

`python -m examples.frameworks.network`
"""

from __future__ import annotations

import math

import torch

from examples.frameworks.common import HERE, ROOT, Bar, axes, save
from llgrad.torch import ForeignModule, foreign

WIDTH, LENGTH, BATCH = 64, 48, 32


class Speller(torch.nn.Module):
    """Letters → scores of the next letters."""

    def __init__(self, letters):
        super().__init__()
        counts = {"steps": ("x", 0), "width": ("w", 1)}
        layer = foreign(HERE / "recurrent.c", "recurrent", out=lambda w, x: (x[0], w[1]), counts=counts)
        self.first = torch.nn.Embedding(letters, 2 * WIDTH)
        self.middle = ForeignModule(layer, batched=True, w=torch.randn(2, WIDTH, WIDTH) / math.sqrt(WIDTH))
        self.last = torch.nn.Linear(WIDTH, letters)

    def forward(self, text):
        return self.last(self.middle(self.first(text)))


def read():
    """The documentation as numbers, in two parts, and the alphabet."""
    text = "".join(p.read_text() for p in sorted((ROOT / "docs").glob("*.md")))
    alphabet = sorted(set(text))
    numbers = torch.tensor([alphabet.index(c) for c in text])
    cut = len(numbers) * 9 // 10
    return numbers[:cut], numbers[cut:], alphabet


def draw(text):
    """A batch of pieces, and the same one letter on."""
    starts = torch.randint(len(text) - LENGTH - 1, (BATCH,)).tolist()
    return (torch.stack([text[s + k : s + k + LENGTH] for s in starts]) for k in (0, 1))


def bits(model, text):
    """Bits a letter on one batch, as a tensor to differentiate."""
    given, wanted = draw(text)
    return torch.nn.functional.cross_entropy(model(given).flatten(0, 1), wanted.flatten()) / math.log(2)


def spell(model, alphabet, start="The derivative ", count=80):
    """A text that goes on as the model would."""
    said = [alphabet.index(c) for c in start]
    with torch.no_grad():
        for _ in range(count):
            scores = model(torch.tensor([said[-LENGTH:]]))[0, -1]
            said.append(int(torch.multinomial(torch.softmax(scores / 0.6, 0), 1)))
    return "".join(alphabet[n] for n in said)


def train(steps=1200):
    """Losses on what is learnt from and on what is not, in bits a letter; what one letter alone tells; the model."""
    torch.manual_seed(0)
    torch.set_num_threads(1)  # these products are small; the C layer takes the cores
    seen, unseen, alphabet = read()
    model = Speller(len(alphabet))
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    bar, losses, checks = Bar("learning to spell"), [], []
    for step in bar.steps(steps):
        loss = bits(model, seen)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if step % 10 == 0:
            with torch.no_grad():
                checks.append((step, bits(model, unseen).item()))
            bar.say(f"{losses[-1]:.2f} bits a letter")
    share = torch.bincount(seen) / len(seen)
    alone = -torch.sum(share * torch.log2(share.clamp(min=1e-12))).item()
    return losses, checks, alone, (model, alphabet)


def main():
    losses, checks, alone, model = train()
    print(f"{losses[0]:.2f} bits a letter at first, {sum(losses[-20:]) / 20:.2f} at the end")
    print(repr(spell(*model)))
    figure, ((axis,),) = axes(1)
    axis.plot(losses, lw=0.7, label="learnt from")
    axis.plot(*zip(*checks, strict=True), label="not seen")
    axis.axhline(alone, color="gray", ls=":", label="letters by frequency")
    axis.set(title="PyTorch, a recurrent layer in C", xlabel="step", ylabel="bits a letter")
    axis.legend()
    save(figure, "network")


if __name__ == "__main__":
    main()
