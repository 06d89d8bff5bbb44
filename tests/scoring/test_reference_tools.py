"""Our metrics against scikit-learn, scipy and trec_eval, on a thousand random cases each."""

import numpy as np
import pytest
import pytrec_eval
import scipy.stats
from sklearn.metrics import brier_score_loss, f1_score, log_loss

from scoring import calibration, metrics
from scoring.stats import interval

CASES = 1000
# What the tools warn of, such as labels without a prediction, is part of the cases.
pytestmark = pytest.mark.filterwarnings("ignore")


def seeds():
    return (np.random.default_rng(seed) for seed in range(CASES))


def test_macro_f1_is_that_of_scikit_learn():
    for chance in seeds():
        labels, fields = chance.integers(1, 8), chance.integers(1, 60)
        gold, predicted = chance.integers(0, labels, fields).tolist(), chance.integers(0, labels, fields).tolist()
        expected = f1_score(gold, predicted, average="macro", zero_division=0)
        assert metrics.macro_f1(gold, predicted) == pytest.approx(expected, abs=1e-12)


def test_f1_over_a_fixed_set_of_labels_is_that_of_scikit_learn():
    for chance in seeds():
        labels, fields = list(range(6)), chance.integers(1, 40)
        gold, predicted = chance.integers(0, 4, fields).tolist(), chance.integers(0, 4, fields).tolist()
        expected = f1_score(gold, predicted, labels=labels, average="macro", zero_division=0)
        assert metrics.conservative_macro_f1(gold, predicted, labels, 0) == pytest.approx(expected, abs=1e-12)


def test_binary_f1_is_that_of_scikit_learn():
    for chance in seeds():
        fields, share = chance.integers(1, 60), chance.random()
        gold, predicted = (chance.random(fields) < share).tolist(), (chance.random(fields) < chance.random()).tolist()
        assert metrics.binary_f1(gold, predicted, True) == pytest.approx(f1_score(gold, predicted, zero_division=0), abs=1e-12)


def test_brier_and_log_loss_are_those_of_scikit_learn():
    for chance in seeds():
        fields = chance.integers(2, 60)
        probability, happened = chance.random(fields), chance.random(fields) < 0.5
        happened[:2] = True, False
        ours = metrics.mean(map(metrics.brier, probability.tolist(), happened.tolist()))
        assert ours == pytest.approx(brier_score_loss(happened, probability), abs=1e-12)
        ours = metrics.mean(map(metrics.log_loss, probability.tolist(), happened.tolist()))
        assert ours == pytest.approx(log_loss(happened, probability), abs=1e-9)


def test_multiclass_brier_is_that_of_scikit_learn():
    for chance in seeds():
        fields, options = chance.integers(1, 30), int(chance.integers(3, 8))
        probabilities = chance.dirichlet(np.ones(options), fields)
        gold = chance.integers(0, options, fields)
        ours = calibration.brier(probabilities[np.arange(fields), gold], (probabilities**2).sum(axis=1))
        expected = brier_score_loss(gold, probabilities, labels=list(range(options)), scale_by_half=False)
        assert ours == pytest.approx(expected, abs=1e-12)


def test_ndcg_is_that_of_trec_eval_with_exponential_gains():
    # trec_eval takes gains as they are, and orders ties from the other end: no ties here.
    for chance in seeds():
        documents = [f"d{number}" for number in range(chance.integers(1, 40))]
        qrels = {document: int(chance.integers(0, 4)) for document in documents if chance.random() < 0.6}
        if not any(qrels.values()):
            continue
        scored = [document for document in documents if chance.random() < 0.9]
        probabilities = dict(zip(scored, chance.permutation(len(scored)) / 50 + 0.01, strict=True))
        ours = metrics.ndcg(metrics.rank(probabilities, scored), qrels)
        gains = {document: 2**relevance - 1 for document, relevance in qrels.items()}
        evaluator = pytrec_eval.RelevanceEvaluator({"q": gains}, {"ndcg_cut_10"})
        expected = evaluator.evaluate({"q": {name: float(p) for name, p in probabilities.items()}}) if scored else {}
        assert ours == pytest.approx(expected["q"]["ndcg_cut_10"] if expected else 0.0, abs=1e-6)


def test_reciprocal_rank_and_recall_are_those_of_trec_eval():
    for chance in seeds():
        documents = [f"d{number}" for number in range(chance.integers(1, 40))]
        qrels = {document: int(chance.random() < 0.3) for document in documents}
        if not any(qrels.values()):
            continue
        probabilities = dict(zip(documents, (chance.permutation(len(documents)) / 50).tolist(), strict=True))
        ranking = metrics.rank(probabilities, documents)
        evaluator = pytrec_eval.RelevanceEvaluator({"q": qrels}, {"recip_rank", "recall_10"})
        expected = evaluator.evaluate({"q": probabilities})["q"]
        assert metrics.reciprocal_rank(ranking, qrels) == pytest.approx(expected["recip_rank"], abs=1e-6)
        assert metrics.recall(ranking[:10], qrels) == pytest.approx(expected["recall_10"], abs=1e-6)


def test_intervals_are_the_bias_corrected_ones_by_scipy():
    normal = scipy.stats.norm
    for chance in seeds():
        value = chance.normal()
        draws = chance.normal(value + chance.uniform(-0.5, 0.5), chance.uniform(0.1, 2), 200)
        share = scipy.stats.percentileofscore(draws, value, kind="mean") / 100
        if 0 < share < 1:
            expected = np.quantile(draws, normal.cdf(2 * normal.ppf(share) + normal.ppf([0.025, 0.975])))
            assert interval(draws, value) == pytest.approx(tuple(expected), abs=1e-9)
