# SPDX-License-Identifier: MIT
"""`python -m tests.classic.pipelines`: models of scikit-learn, XGBoost and LightGBM, and what onnxruntime makes of their files.

They are trained on seeded data of our own and stored in `pipelines.npz` beside this file: the model, its inputs, its outputs.
Needs scikit-learn, skl2onnx, onnxmltools, xgboost, lightgbm, onnxruntime and pandas in an environment of its own; nothing
else here imports them.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy

STORED = Path(__file__).with_name("pipelines.npz")
ROWS = 12
SEED = 7
OPSETS = {"": 17, "ai.onnx.ml": 3}


def stored() -> Mapping[str, tuple[bytes, dict[str, numpy.ndarray], dict[str, numpy.ndarray]]]:
    """(model, inputs, outputs) by name; text of inputs and outputs as numpy's text."""
    with numpy.load(STORED) as file:
        arrays = dict(file)
    found = {}
    for name in sorted({key.split("/")[0] for key in arrays}):
        sides: dict[str, dict[str, numpy.ndarray]] = {"in": {}, "out": {}}
        for key, values in arrays.items():
            owner, side, *tensor = key.split("/", 2)
            if owner == name and side in sides:
                sides[side][tensor[0]] = values
        found[name] = arrays[f"{name}/model"].tobytes(), sides["in"], sides["out"]
    return found


def training_data() -> dict[str, Any]:
    """Seeded features and targets, float32: three classes, two of them, with gaps, and real targets."""
    from sklearn.datasets import make_classification, make_regression

    x, y = make_classification(240, 6, n_informative=4, n_redundant=0, n_classes=3, class_sep=1.4, random_state=SEED)
    x, y = x.astype(numpy.float32), y.astype(numpy.int64)
    r, t = make_regression(240, 6, n_informative=5, noise=4.0, random_state=SEED)
    random = numpy.random.default_rng(SEED)
    gaps = x.copy()
    gaps[random.random(x.shape) < 0.12] = numpy.nan
    words = numpy.array(["low", "middle", "high"])[y]
    return {
        "x": x,
        "y": y,
        "words": words,
        "two": (x[y < 2], y[y < 2]),
        "gaps": gaps,
        "r": r.astype(numpy.float32),
        "t": (t / 50).astype(numpy.float32),
    }


def pipelines() -> dict[str, tuple[Any, Any, Any]]:
    """(estimator, features, targets) by name."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn import ensemble, linear_model, naive_bayes, preprocessing, svm, tree
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.feature_selection import SelectKBest
    from sklearn.impute import SimpleImputer
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from xgboost import XGBClassifier, XGBRegressor

    data = training_data()
    classes, words, two = (data["x"], data["y"]), (data["x"], data["words"]), data["two"]
    gaps, real = (data["gaps"], data["y"]), (data["r"], data["t"])
    scaled = preprocessing.StandardScaler
    some = {"n_estimators": 8, "max_depth": 4, "random_state": SEED}
    few = {"n_estimators": 8, "max_depth": 3, "random_state": SEED}
    logistic = linear_model.LogisticRegression

    def svc(kernel: str, **more):
        return make_pipeline(scaled(), svm.SVC(kernel=kernel, random_state=SEED, **more))

    return {
        "logistic regression": (logistic(), *classes),
        "logistic regression, two classes": (make_pipeline(scaled(), logistic()), *two),
        "logistic regression, labels are words, MinMaxScaler": (make_pipeline(preprocessing.MinMaxScaler(), logistic()), *words),
        "logistic regression, SimpleImputer, StandardScaler": (make_pipeline(SimpleImputer(), scaled(), logistic()), *gaps),
        "logistic regression, Normalizer, Binarizer": (
            make_pipeline(preprocessing.Normalizer("l1"), preprocessing.Binarizer(threshold=0.1), logistic()),
            *classes,
        ),
        "logistic regression, PCA": (make_pipeline(scaled(), PCA(3), logistic()), *classes),
        "logistic regression, SelectKBest, RobustScaler": (
            make_pipeline(SelectKBest(k=4), preprocessing.RobustScaler(), logistic()),
            *classes,
        ),
        "linear regression": (linear_model.LinearRegression(), *real),
        "ridge, PolynomialFeatures": (make_pipeline(preprocessing.PolynomialFeatures(2), linear_model.Ridge()), *real),
        "ridge classifier": (linear_model.RidgeClassifier(), *classes),
        "stochastic gradient descent": (make_pipeline(scaled(), linear_model.SGDClassifier(random_state=SEED)), *words),
        "linear SVC": (make_pipeline(scaled(), svm.LinearSVC(random_state=SEED)), *classes),
        "linear SVR": (make_pipeline(scaled(), svm.LinearSVR(random_state=SEED)), *real),
        "SVC, linear": (svc("linear"), *classes),
        "SVC, poly, probabilities": (svc("poly", probability=True), *classes),
        "SVC, rbf, probabilities, labels are words": (svc("rbf", probability=True), *words),
        "SVC, rbf, two classes": (svc("rbf"), *two),
        "SVC, sigmoid": (svc("sigmoid"), *two),
        "SVC, sigmoid, three classes": (svc("sigmoid"), *classes),
        "SVR, rbf": (make_pipeline(scaled(), svm.SVR()), real[0][:80], real[1][:80]),
        "one-class SVM": (svm.OneClassSVM(nu=0.2), classes[0][:80], None),
        "linear discriminant analysis": (LinearDiscriminantAnalysis(), *classes),
        "quadratic discriminant analysis": (QuadraticDiscriminantAnalysis(), *classes),
        "Gaussian naive Bayes": (naive_bayes.GaussianNB(), *classes),
        "Gaussian naive Bayes, labels are words": (naive_bayes.GaussianNB(), *words),
        "Bernoulli naive Bayes, Binarizer": (make_pipeline(preprocessing.Binarizer(), naive_bayes.BernoulliNB()), *classes),
        "Gaussian mixture": (GaussianMixture(3, random_state=SEED), classes[0], None),
        "Gaussian mixture, diagonal": (GaussianMixture(3, covariance_type="diag", random_state=SEED), classes[0], None),
        "k-means": (make_pipeline(scaled(), KMeans(4, n_init=1, random_state=SEED)), classes[0], None),
        "k nearest neighbours": (KNeighborsClassifier(3), classes[0][:60], classes[1][:60]),
        "k nearest neighbours, weighted, StandardScaler": (
            make_pipeline(scaled(), KNeighborsClassifier(3, weights="distance")),
            words[0][:60],
            words[1][:60],
        ),
        "k nearest neighbours, regression": (KNeighborsRegressor(3), real[0][:60], real[1][:60]),
        "multi-layer perceptron": (make_pipeline(scaled(), MLPClassifier((12,), max_iter=200, random_state=SEED)), *classes),
        "multi-layer perceptron, labels are words, tanh": (
            MLPClassifier((8, 6), activation="tanh", max_iter=200, random_state=SEED),
            *words,
        ),
        "multi-layer perceptron, regression": (
            make_pipeline(scaled(), MLPRegressor(hidden_layer_sizes=(12,), max_iter=200, random_state=SEED)),
            *real,
        ),
        "decision tree": (tree.DecisionTreeClassifier(max_depth=5, random_state=SEED), *classes),
        "decision tree, regression": (tree.DecisionTreeRegressor(max_depth=5, random_state=SEED), *real),
        "random forest": (ensemble.RandomForestClassifier(**some), *classes),
        "random forest, labels are words, SimpleImputer": (
            make_pipeline(SimpleImputer(strategy="median"), ensemble.RandomForestClassifier(**some)),
            data["gaps"],
            data["words"],
        ),
        "random forest, PCA, StandardScaler": (
            make_pipeline(scaled(), PCA(3), ensemble.RandomForestClassifier(**some)),
            *classes,
        ),
        "random forest, regression": (ensemble.RandomForestRegressor(**some), *real),
        "extra trees": (ensemble.ExtraTreesClassifier(**some), *classes),
        "extra trees, regression": (ensemble.ExtraTreesRegressor(**some), *real),
        "gradient boosting": (ensemble.GradientBoostingClassifier(**few), *classes),
        "gradient boosting, two classes": (ensemble.GradientBoostingClassifier(**few), *two),
        "gradient boosting, regression": (ensemble.GradientBoostingRegressor(**few), *real),
        "histogram boosting, missing values": (
            ensemble.HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=8, random_state=SEED),
            *gaps,
        ),
        "histogram boosting, regression": (
            ensemble.HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=8, random_state=SEED),
            *real,
        ),
        "AdaBoost": (ensemble.AdaBoostClassifier(n_estimators=4, random_state=SEED), *classes),
        "AdaBoost, regression": (ensemble.AdaBoostRegressor(n_estimators=4, random_state=SEED), *real),
        "bagging": (ensemble.BaggingClassifier(n_estimators=4, max_samples=0.3, random_state=SEED), *classes),
        "isolation forest": (ensemble.IsolationForest(n_estimators=4, max_samples=32, random_state=SEED), classes[0], None),
        "voting": (
            ensemble.VotingClassifier(
                [("one", logistic()), ("two", naive_bayes.GaussianNB())], voting="soft", flatten_transform=False
            ),
            *classes,
        ),
        "XGBoost": (XGBClassifier(**few), *classes),
        "XGBoost, missing values": (XGBClassifier(**few), data["gaps"], data["y"]),
        "XGBoost, two classes": (XGBClassifier(**few), *two),
        "XGBoost, regression": (XGBRegressor(**few), *real),
        "LightGBM": (LGBMClassifier(n_estimators=5, num_leaves=8, verbose=-1, random_state=SEED), *classes),
        "LightGBM, two classes": (LGBMClassifier(n_estimators=8, num_leaves=8, verbose=-1, random_state=SEED), *two),
        "LightGBM, regression": (LGBMRegressor(n_estimators=8, num_leaves=8, verbose=-1, random_state=SEED), *real),
    }


def table_of_columns() -> Any:
    """Raw data: numbers with gaps, and columns of words."""
    import pandas

    random, rows = numpy.random.default_rng(SEED), 240
    table = pandas.DataFrame(
        {
            "weight": random.normal(size=rows).astype(numpy.float32),
            "length": random.normal(2.0, size=rows).astype(numpy.float32),
            "colour": random.choice(["red", "green", "blue", "grey"], rows),
            "size": random.choice(["S", "M", "L"], rows),
        }
    )
    table["bought"] = numpy.where((table.colour == "red") | (table.weight > 0.5) & (table["size"] != "S"), "yes", "no")
    table.loc[::7, "weight"] = numpy.nan
    return table


def column_pipelines() -> dict[str, Any]:
    """Estimators on `table_of_columns`, by name."""
    from sklearn import ensemble, linear_model, preprocessing, svm
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    def columns(words):
        numbers = make_pipeline(SimpleImputer(), preprocessing.StandardScaler())
        return ColumnTransformer([("numbers", numbers, ["weight", "length"]), ("words", words, ["colour", "size"])])

    one_hot = preprocessing.OneHotEncoder(handle_unknown="ignore")
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    forest = ensemble.RandomForestClassifier(n_estimators=8, max_depth=4, random_state=SEED)
    mixed = ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median"), ["weight", "length"]),
            ("colour", one_hot, ["colour"]),
            ("size", preprocessing.OrdinalEncoder(categories=[["S", "M", "L"]], **unknown), ["size"]),
        ]
    )
    return {
        "columns: OneHotEncoder, SimpleImputer, logistic regression": make_pipeline(
            columns(one_hot), linear_model.LogisticRegression()
        ),
        "columns: OneHotEncoder, OrdinalEncoder, random forest": make_pipeline(mixed, forest),
        "columns: OrdinalEncoder, gradient boosting": make_pipeline(
            columns(preprocessing.OrdinalEncoder(**unknown)),
            ensemble.GradientBoostingClassifier(n_estimators=8, random_state=SEED),
        ),
        "columns: OneHotEncoder, SVC": make_pipeline(columns(one_hot), svm.SVC(probability=True, random_state=SEED)),
    }


def _take_numpy_integers() -> None:
    """Lets onnx take the truth values and integers of numpy that the converter of histogram boosting hands over."""
    import onnx

    make = onnx.helper.make_attribute

    def plain(key, value, *rest, **more):
        if isinstance(value, list | tuple):
            value = [one.item() if isinstance(one, numpy.generic) else one for one in value]
            value = [int(one) if isinstance(one, bool) else one for one in value]
        return make(key, value, *rest, **more)

    onnx.helper.make_attribute = plain


def _register() -> None:
    from lightgbm import LGBMClassifier, LGBMRegressor
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
    from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
    from skl2onnx import update_registered_converter
    from skl2onnx.common.shape_calculator import (
        calculate_linear_classifier_output_shapes as classes,
    )
    from skl2onnx.common.shape_calculator import (
        calculate_linear_regressor_output_shapes as numbers,
    )
    from xgboost import XGBClassifier, XGBRegressor

    options = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    update_registered_converter(XGBClassifier, "XGBoostXGBClassifier", classes, convert_xgboost, options=options)
    update_registered_converter(XGBRegressor, "XGBoostXGBRegressor", numbers, convert_xgboost)
    update_registered_converter(LGBMClassifier, "LightGbmLGBMClassifier", classes, convert_lightgbm, options=options)
    update_registered_converter(LGBMRegressor, "LightGbmLGBMRegressor", numbers, convert_lightgbm)


def _outputs(model: bytes, inputs: Mapping[str, numpy.ndarray]) -> dict[str, numpy.ndarray]:
    """What onnxruntime gives for each row by itself; maps as rows."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    found: dict[str, list] = {output.name: [] for output in session.get_outputs()}
    for row in range(ROWS):
        values = session.run(None, {name: _fed(array[row]) for name, array in inputs.items()})
        for name, value in zip(found, values):
            maps = isinstance(value, list)
            found[name].append(numpy.array([list(value[0].values())], numpy.float32) if maps else numpy.asarray(value))
    return {name: numpy.stack([_text(value) for value in values]) for name, values in found.items()}


def _fed(values: numpy.ndarray) -> numpy.ndarray:
    return values.astype(object) if values.dtype.kind == "U" else values


def _text(values: numpy.ndarray) -> numpy.ndarray:
    return values.astype(str) if values.dtype == object else values


def record() -> None:
    """Train, convert, run, store."""
    from skl2onnx import convert_sklearn, to_onnx
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    _register()
    _take_numpy_integers()
    arrays: dict[str, numpy.ndarray] = {}

    def keep(name: str, model: bytes, inputs: dict[str, numpy.ndarray]) -> None:
        arrays[f"{name}/model"] = numpy.frombuffer(model, numpy.uint8)
        arrays.update({f"{name}/in/{tensor}": values for tensor, values in inputs.items()})
        arrays.update({f"{name}/out/{tensor}": values for tensor, values in _outputs(model, inputs).items()})
        print(f"{name}: {len(model)} bytes")

    for name, (estimator, x, y) in pipelines().items():
        estimator.fit(x, y)
        options = {"raw_scores": False} if "linear SVC" in name else None
        file = to_onnx(estimator, x[:1], options=options and {id(estimator[-1]): options}, target_opset=OPSETS)
        keep(name, file.SerializeToString(), {file.graph.input[0].name: x[:ROWS, None]})
        if name == "k nearest neighbours":
            wide = {id(estimator): {"optim": "cdist"}}
            file = to_onnx(estimator, x[:1], options=wide, target_opset={**OPSETS, "com.microsoft": 1})
            keep(f"{name}, CDist", file.SerializeToString(), {file.graph.input[0].name: x[:ROWS, None]})
    table = table_of_columns()
    kinds = {"weight": FloatTensorType, "length": FloatTensorType, "colour": StringTensorType, "size": StringTensorType}
    for name, estimator in column_pipelines().items():
        estimator.fit(table[list(kinds)], table.bought)
        file = convert_sklearn(estimator, initial_types=[(k, v([None, 1])) for k, v in kinds.items()], target_opset=OPSETS)
        rows = table[:ROWS].copy()
        rows.loc[2, "colour"] = "violet"  # which the model has never seen
        inputs = {k: rows[k].to_numpy().reshape(ROWS, 1, 1) for k in kinds}
        keep(name, file.SerializeToString(), {k: v.astype(str) if v.dtype == object else v for k, v in inputs.items()})
    numpy.savez_compressed(STORED, **arrays)
    print(json.dumps({"bytes": STORED.stat().st_size, "models": len({key.split("/")[0] for key in arrays})}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    record()
