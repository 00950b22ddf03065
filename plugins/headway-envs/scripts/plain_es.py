import argparse, time
import numpy as np
from headway_envs.miniterm import TaskBatch, rollouts


def ranks(values):
    order = np.argsort(values.ravel(), kind="stable")
    v = values.ravel()
    _, inv, counts = np.unique(v, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    avg = ends - (counts + 1) / 2
    return ((avg[inv]) / (v.size - 1) - 0.5).reshape(values.shape)


def train(theta, seed, updates, pairs, sigma, rate, episodes, every=25, gauss=True):
    theta = theta.astype(np.float64)
    m = np.zeros_like(theta)
    s = np.zeros_like(theta)
    held = TaskBatch.draw(seed + 10**6, 0, 2048)
    curve = []
    fits = []
    for t in range(updates):
        if t % every == 0:
            o = rollouts(theta, held, sample=SAMPLE)
            curve.append(o.success.mean())
            fits.append(o.fitness.mean())
        eps = (
            np.random.Generator(np.random.Philox(key=[seed, t]))
            .standard_normal((pairs, theta.size), np.float32)
            .astype(float)
        )
        f = rollouts(
            np.concatenate([theta + sigma * eps, theta - sigma * eps]),
            TaskBatch.draw(seed, 1 + t, episodes),
            sample=SAMPLE,
        ).fitness.mean(axis=1)
        u = ranks(f.reshape(2, pairs))
        g = (u[0] - u[1]) @ eps / (2 * pairs)
        m = 0.9 * m + 0.1 * g
        s = 0.999 * s + 0.001 * g * g
        theta = theta + rate * np.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1)) * m / (
            np.sqrt(s) + 1e-8
        )
    o = rollouts(theta, held, sample=SAMPLE)
    curve.append(o.success.mean())
    fits.append(o.fitness.mean())
    return curve, fits


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("start")
    p.add_argument("--sigma", type=float, default=0.05)
    p.add_argument("--rate", type=float, default=0.02)
    p.add_argument("--episodes", type=int, default=32)
    p.add_argument("--updates", type=int, default=300)
    p.add_argument("--seeds", type=int, default=2)
    p.add_argument("--pairs", type=int, default=64)
    p.add_argument("--argmax", action="store_true")
    o = p.parse_args()
    SAMPLE = not o.argmax
    for seed in range(o.seeds):
        t = time.time()
        c, f = train(np.load(o.start), seed, o.updates, o.pairs, o.sigma, o.rate, o.episodes)
        print(
            o.start,
            o.sigma,
            o.rate,
            o.episodes,
            seed,
            " ".join(f"{100 * x:.0f}" for x in c[::2]),
            "fit",
            " ".join(f"{100 * x:.0f}" for x in f[::2]),
            f"{time.time() - t:.1f}s",
            flush=True,
        )
