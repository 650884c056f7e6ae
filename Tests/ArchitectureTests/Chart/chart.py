"""Renders deploy/chart as Helm does, and finds its way in a workload. Needs helm_python and yaml alone."""
import copy
import pathlib

import helm_python
import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CHART = ROOT / "deploy/chart"
NAMESPACE = "chat"


def merged(*layers):
    """As Helm joins files of values: maps by their keys, everything else replaced."""
    result = {}
    for layer in layers:
        for key, value in layer.items():
            inner = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = merged(result[key], value) if inner else copy.deepcopy(value)
    return result


def values(*names):
    paths = [CHART / name if name.startswith("values-") else HERE / name for name in names]
    return merged(*(yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths))


def rendered(chart, chosen):
    texts = chart.render(chosen, name="whisper", namespace=NAMESPACE)
    documents = []
    for path, text in texts.items():
        if path.endswith(".yaml"):
            documents += [document for document in yaml.safe_load_all(text) if document]
    return documents


def pod(workload):
    return workload["spec"]["template"]


def container(workload):
    return pod(workload)["spec"]["containers"][0]


def secret_files(workload):
    volumes = [volume for volume in pod(workload)["spec"]["volumes"] if volume["name"] == "secrets"]
    sources = [source for volume in volumes for source in volume["projected"]["sources"]]
    return {item["path"]: source["secret"]["name"] for source in sources for item in source["secret"]["items"]}
