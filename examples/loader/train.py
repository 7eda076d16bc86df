"""Trains a small classifier on Parquet files, stops in the middle, goes on, and plots the loss."""

import json
import os
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cdevice

FILES, ROWS, FEATURES = 4, 50_000, 8
EPOCHS, BATCH, RATE = 3, 256, 0.05


def write(folder):
    """Points on two sides of a plane; every tenth is on the wrong one."""
    rng = np.random.RandomState(8)  # the same numbers in every version of numpy
    plane, paths = rng.normal(size=FEATURES), []
    for k in range(FILES):
        x = rng.normal(size=(ROWS, FEATURES)).astype("f4")
        side = (x @ plane > 0) ^ (rng.random_sample(ROWS) < 0.1)
        columns = {f"x{i}": x[:, i] for i in range(FEATURES)} | {"side": side.astype("f4")}
        paths.append(os.path.join(folder, f"{k}.parquet"))
        pq.write_table(pa.table(columns), paths[-1], row_group_size=10_000)
    return paths


class Model:
    """Logistic regression by stochastic gradient descent."""

    def __init__(self, weights=None):
        self.weights = np.zeros(FEATURES) if weights is None else np.array(weights)

    def step(self, batch):
        x = np.stack([batch[f"x{i}"] for i in range(FEATURES)], 1)
        guess = 1 / (1 + np.exp(-x @ self.weights))
        self.weights -= RATE * x.T @ (guess - batch["side"]) / len(x)
        right = np.where(batch["side"] > 0, guess, 1 - guess)
        return float(-np.log(right + 1e-9).mean())


def batches(paths):
    return cdevice.loader(paths, batch_size=BATCH, shuffle=True, seed=1, as_="numpy")


def train(model, loader, until=None):
    """The loss of each step; ``until``: so many steps are made."""
    losses = []
    while loader.epoch < EPOCHS:
        for batch in loader:
            losses.append(model.step(batch))
            if len(losses) == until:
                return losses
    return losses


def plot(losses, path):
    """An SVG: the mean of every 20 steps."""
    means = [float(np.mean(losses[k : k + 20])) for k in range(0, len(losses), 20)]
    dots = " ".join(f"{20 + 560 * k / (len(means) - 1):.1f},{280 - 360 * m:.1f}" for k, m in enumerate(means))
    with open(path, "w") as f:
        f.write(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 300">'
            '<rect width="600" height="300" fill="white"/>'
            f'<polyline points="{dots}" fill="none" stroke="#2a6fb0" stroke-width="2"/>'
            '<path d="M20 20V280H580" fill="none" stroke="black"/>'
            f'<text x="26" y="30" font-size="14">loss of {len(losses)} steps: {means[0]:.2f} to {means[-1]:.2f}</text>'
            "</svg>\n"
        )


def main(picture):
    with tempfile.TemporaryDirectory() as folder:
        paths = write(folder)
        whole = Model()
        losses = train(whole, batches(paths))
        print(len(losses), "steps; the loss fell from", f"{losses[0]:.1f} to {np.mean(losses[-200:]):.1f}")

        first = Model()
        stopped = batches(paths)
        train(first, stopped, until=1000)
        saved = json.dumps({"weights": first.weights.tolist(), "loader": stopped.state_dict()})
        stopped.close()

        state = json.loads(saved)  # in another process, on another day
        again, loader = Model(state["weights"]), batches(paths)
        loader.load_state_dict(state["loader"])
        print("goes on in epoch", loader.epoch, "after", state["loader"]["batches"], "batches")
        train(again, loader)
        print("the same weights:", bool((again.weights == whole.weights).all()))

        ranks = [cdevice.loader(paths, batch_size=BATCH, shuffle=True, rank=r, world_size=3) for r in range(3)]
        print("rows of three ranks:", [sum(b.length for b in rank) for rank in ranks])
    plot(losses, picture)
    with open(picture) as f:
        print("plotted:", f.read().count("polyline") == 1)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(tempfile.gettempdir(), "loss.svg"))
