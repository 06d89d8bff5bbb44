"""Numbers that are made of sums over groups: their exact value, and their value on resamples of the groups.

A resample is told by how often each group was drawn, so that every estimator is a formula on weighted sums and no item is
ever looked at twice. Knows nothing of benchmarks. `counts` is an array [draws, groups] throughout; groups are numbered
from 0.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from scoring import metrics


class Estimator(Protocol):
    """One number over items, each of which belongs to a group."""

    def value(self) -> float | None:
        """The number over all items, None without any."""

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        """The number on every resample, [draws]; nan where no item was drawn."""


@dataclass(frozen=True)
class Mean:
    """Arithmetic mean. values, groups: by item."""

    values: np.ndarray
    groups: np.ndarray

    def value(self) -> float | None:
        return metrics.mean(self.values)

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        groups = counts.shape[1]
        total, items = np.bincount(self.groups, self.values, groups), np.bincount(self.groups, minlength=groups)
        return _ratio(counts @ total, counts @ items)


@dataclass(frozen=True)
class MacroMean:
    """Mean over clusters of the mean inside each. values, groups, clusters: by item, clusters numbered from 0.

    In a resample a cluster that lies within one group is there as often as its group; one that spans several groups is
    made of those that were drawn, and counts once.
    """

    values: np.ndarray
    groups: np.ndarray
    clusters: np.ndarray

    def value(self) -> float | None:
        return metrics.macro_mean(self.values.tolist(), self.clusters.tolist())

    @cached_property
    def _sums(self) -> "_Sums":
        return _Sums.of(self.clusters, self.groups, self.values)

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        sums = self._sums
        items = sums.of_counts(counts, sums.items)
        means = _ratio(sums.of_counts(counts, sums.totals), items)
        alone = np.diff(np.append(sums.starts, len(sums.groups))) == 1
        weights = np.where(alone, counts[:, sums.groups[sums.starts]], items > 0)
        return _ratio((np.nan_to_num(means) * weights).sum(axis=1), weights.sum(axis=1))


@dataclass(frozen=True)
class LabelF1:
    """Mean F1 over labels (see `metrics.label_f1`). gold, predicted, groups: by answered field, labels numbered from 0.

    labels: the labels to average over; None for those that occur. missing: the group of every unanswered field.
    """

    gold: np.ndarray
    predicted: np.ndarray
    groups: np.ndarray
    labels: np.ndarray | None = None
    missing: np.ndarray | None = None

    def value(self) -> float | None:
        missing = 0 if self.missing is None else len(self.missing)
        labels = self.labels if self.labels is not None else np.unique([self.gold, self.predicted])
        return metrics.mean(metrics.label_f1(self.gold.tolist(), self.predicted.tolist(), labels.tolist(), missing))

    @cached_property
    def _sums(self) -> "tuple[_Sums, _Sums, _Sums]":
        """Fields by gold label, by predicted label, and the right ones by label."""
        right = self.gold == self.predicted
        columns = (self.gold, self.groups), (self.predicted, self.groups), (self.gold[right], self.groups[right])
        return tuple(_Sums.of(labels, groups, np.ones(len(labels))) for labels, groups in columns)

    def resampled(self, counts: np.ndarray) -> np.ndarray:
        gold, predicted, hits = (self._by_label(counts, sums) for sums in self._sums)
        seen = gold + predicted
        if self.missing is not None:
            seen += (counts @ np.bincount(self.missing, minlength=counts.shape[1]))[:, None]
        f1 = np.nan_to_num(_ratio(2 * hits, seen))
        return f1[:, self.labels].mean(axis=1) if self.labels is not None else _ratio(f1.sum(axis=1), (seen > 0).sum(axis=1))

    def _by_label(self, counts: np.ndarray, sums: "_Sums") -> np.ndarray:
        """Drawn fields by label, [draws, labels]."""
        known = [column.max(initial=-1) for column in (self.gold, self.predicted, self.labels) if column is not None]
        drawn = np.zeros((len(counts), max(known) + 1))
        drawn[:, sums.codes] = sums.of_counts(counts, sums.items)
        return drawn


@dataclass(frozen=True)
class _Sums:
    """Items summed up by code and group, in the order of codes.

    codes: the codes that occur. starts: where each of them starts in groups, totals (of values) and items (how many).
    """

    codes: np.ndarray
    starts: np.ndarray
    groups: np.ndarray
    totals: np.ndarray
    items: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, groups: np.ndarray, values: np.ndarray) -> "_Sums":
        order = np.lexsort((groups, codes))
        codes, groups, values = codes[order], groups[order], values[order].astype(float)
        first = np.flatnonzero(np.diff(codes, prepend=-1) | np.diff(groups, prepend=-1))
        totals = np.add.reduceat(values, first) if len(first) else values
        items = np.diff(np.append(first, len(codes)))
        starts = np.flatnonzero(np.diff(codes[first], prepend=-1))
        return cls(codes[first][starts], starts, groups[first], totals, items)

    def of_counts(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Weighted sums of `values` by code, [draws, codes]."""
        if not len(self.starts):
            return np.zeros((len(counts), 0))
        return np.add.reduceat(counts[:, self.groups] * values, self.starts, axis=1)


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Quotients, nan where the denominator is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, numerator / denominator, np.nan)
