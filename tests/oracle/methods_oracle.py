"""The methods from their definitions: lists, sets and loops, no arrays and nothing of the package.

Rows `X` are lists of numbers, label sets `Y` are sets of label ids. Every function takes the
neighbours it needs as lists of row ids, nearest first. Operations stand in the order of the
formulas, so that scores can be compared to the bit.
"""

from fractions import Fraction


def squared_distance(a, b):
    total = 0.0
    for p, q in zip(a, b, strict=True):
        total += (p - q) * (p - q)
    return total


def nearest(query, X, k, leave_out=None):
    """Return the k nearest rows by (Euclidean distance, row id)."""
    others = [i for i in range(len(X)) if i != leave_out]
    return sorted(others, key=lambda i: (squared_distance(query, X[i]), i))[:k]


def leave_one_out(X, k):
    return [nearest(row, X, k, leave_out=i) for i, row in enumerate(X)]


def n_votes(near, Y, label):
    return sum(1 for a in near if label in Y[a])


def best_first(scores):
    """Return label ids by (score falling, id rising)."""
    return sorted(range(len(scores)), key=lambda label: (-scores[label], label))


# -- BRkNN, LPkNN


def confidence(near, Y, n_labels):
    return [n_votes(near, Y, label) / len(near) if near else 0.0 for label in range(n_labels)]


def brknn_labels(near, Y, n_labels, variant, strict):
    scores = confidence(near, Y, n_labels)
    if variant == "b":
        z = sum(len(Y[a]) for a in near) / len(near) if near else 0.0
        size = int(z + 0.5)
        return set(best_first(scores)[:size])
    passing = {
        label
        for label in range(n_labels)
        if (scores[label] > 0.5 if strict else scores[label] >= 0.5)
    }
    if variant == "a" and not passing:
        return {best_first(scores)[0]}
    return passing


def lpknn_labels(near, Y):
    """Return the most frequent set; of several, the one that stands first among the neighbours."""
    seen = []
    for a in near:
        if Y[a] not in seen:
            seen.append(Y[a])
    best, best_count = set(), 0
    for labels in seen:  # Nearest member first, so only a larger count takes over.
        count = sum(1 for a in near if Y[a] == labels)
        if count > best_count:
            best, best_count = labels, count
    return best


# -- ML-kNN and its family


def ratio(part, whole):
    return part / whole if whole else 0.0


def posterior(counts, n_outcomes, s):
    """Return r from the numbers of rows, and of matching rows, with and without the label.

    A half is told by exact arithmetic: the rounded products of an exact half may differ.
    """
    prior, one, other = products(counts, n_outcomes, s)
    if one + other == 0:
        return prior
    _, exact_one, exact_other = products(counts, n_outcomes, Fraction(s))
    return 0.5 if exact_one == exact_other else one / (one + other)


def products(counts, n_outcomes, s):
    """Return P(H1), P(H1)P(E|H1) and P(H0)P(E|H0)."""
    (n_with, v_with), (n_without, v_without) = counts
    prior = ratio(s + n_with, 2 * s + n_with + n_without)
    with_label = ratio(s + v_with, s * n_outcomes + n_with)
    without_label = ratio(s + v_without, s * n_outcomes + n_without)
    return prior, prior * with_label, (1 - prior) * without_label


def mlknn_score(near, label, Y, loo, members, k, s):
    """Return r(l), statistics of the rows `members` (all of them for ML-kNN)."""
    votes = n_votes(near, Y, label)
    carrying = [i for i in members if label in Y[i]]
    lacking = [i for i in members if label not in Y[i]]

    def counted(rows):
        return len(rows), sum(1 for i in rows if n_votes(loo[i], Y, label) == votes)

    return posterior((counted(carrying), counted(lacking)), k + 1, s)


def dmlknn_score(near, label, Y, loo, n_labels, tolerance, s):
    def matches(i):
        if n_votes(loo[i], Y, label) != n_votes(near, Y, label):
            return False
        return all(
            abs(n_votes(loo[i], Y, other) - n_votes(near, Y, other)) <= tolerance
            for other in range(n_labels)
            if other != label
        )

    carrying = [i for i in range(len(Y)) if label in Y[i]]
    lacking = [i for i in range(len(Y)) if label not in Y[i]]
    counts = [(len(rows), sum(1 for i in rows if matches(i))) for rows in (carrying, lacking)]
    return posterior(counts, n_labels, s)


def cluster_of(row, centers):
    return min(range(len(centers)), key=lambda w: (squared_distance(row, centers[w]), w))
