"""Renders deploy/chart with Helm in every size, and judges what comes out.

    check_chart.py [--crd FILE]…

Each document is validated strictly by the schemas of Kubernetes or by the models of its operator. Then it is compared with
compose.yaml, deploy/ and docs/settings.md, so that all of them say the same. Prints each problem and exits with 1 if there is one.
`--crd` names a CustomResourceDefinition for the documents of CloudNativePG, which no package on PyPI describes.
"""
import argparse
import functools
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import helm_python
import jsonschema
import kubernetes_validate.utils
import yaml
from cloudcoil.models.keda.v1alpha1 import ScaledObject
from cloudcoil.models.prometheus_operator.v1 import PrometheusRule, ServiceMonitor

from chart import CHART, NAMESPACE, ROOT, container, merged, pod, rendered, secret_files, values

SERVICES = ["gateway", "auth", "router", "push", "attachments", "calls"]
#: The oldest that Chart.yaml allows and the newest that there is a schema of.
KUBERNETES = ["1.30", "1.37"]
#: Documents of operators, by kind. A name that a model does not know is dropped by it, and so found.
MODELS = {"ScaledObject": ScaledObject, "ServiceMonitor": ServiceMonitor, "PrometheusRule": PrometheusRule}
PROMTOOL = "/usr/bin/promtool"
#: Images have it as their tag, unless a site names another.
RELEASE = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]

#: The definitions of a release are large, and would be read for each document.
kubernetes_validate.utils.schema_contents = functools.cache(kubernetes_validate.utils.schema_contents)

#: Connected at once, as the heads of the files of values have it.
PEOPLE = {"small": 10_000, "medium": 50_000, "large": 400_000}

problems = []


def expect(is_so, problem):
    if not is_so:
        problems.append(problem)


def same(what, here, there):
    expect(here == there, f"{what}: the chart says {here!r}, and not {there!r}")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


# ---- documents


class Documents:
    """What one set of values makes."""

    def __init__(self, documents):
        self.all = documents
        self.by_name = {(document["kind"], document["metadata"]["name"]): document for document in documents}

    def of(self, *kinds):
        return [document for document in self.all if document["kind"] in kinds]

    def get(self, kind, name):
        return self.by_name.get((kind, name))

    @property
    def workloads(self):
        return self.of("Deployment", "StatefulSet", "Job")


def environment(workload):
    """Values, and in place of what Kubernetes fills in, the field that it is taken from."""
    return {
        entry["name"]: entry["value"] if "value" in entry else entry["valueFrom"]["fieldRef"]["fieldPath"]
        for entry in container(workload).get("env", [])}


def pods_of(workload):
    """Labels of its pods. Those of a StatefulSet have names of their own."""
    labels, spec = pod(workload)["metadata"]["labels"], workload["spec"]
    if workload["kind"] != "StatefulSet":
        return [labels]
    first = spec.get("ordinals", {}).get("start", 0)
    name = workload["metadata"]["name"]
    return [
        {**labels, "statefulset.kubernetes.io/pod-name": f"{name}-{number}", "apps.kubernetes.io/pod-index": str(number)}
        for number in range(first, first + spec["replicas"])]


def selects(labels, wanted):
    return all(labels.get(key) == value for key, value in wanted.items())


# ---- each document by itself


def paths(value, at=""):
    """Every place of a document that holds something."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, f"{at}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, f"{at}[{index}]")
    else:
        yield at


def validate(size, documents, resources):
    for document in documents.all:
        kind, name = document["kind"], document["metadata"]["name"]
        place = f"{size}: {kind} {name}"
        if kind in MODELS:
            try:
                model = MODELS[kind].model_validate(document)
            except ValueError as error:
                problems.append(f"{place}: {error}")
                continue
            known = model.model_dump(mode="json", by_alias=True, exclude_unset=True)
            unknown = set(paths(document)) - set(paths(known))
            expect(not unknown, f"{place}: its operator does not know {sorted(unknown)}")
        elif document["apiVersion"].startswith("postgresql.cnpg.io/"):
            if kind in resources:
                for error in jsonschema.Draft202012Validator(resources[kind]).iter_errors(document):
                    problems.append(f"{place}: {error.json_path}: {error.message[:200]}")
        else:
            for version in KUBERNETES:
                try:
                    kubernetes_validate.validate(document, version, strict=True)
                except Exception as error:  # Several kinds of errors, all of them the document's.
                    problems.append(f"{place}: Kubernetes {version}: {getattr(error, 'message', error)}")


def closed(schema):
    """Names that a CustomResourceDefinition does not have are refused, as the API server warns of them."""
    if isinstance(schema, dict):
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
        schema.pop("format", None)
        if schema.get("x-kubernetes-int-or-string"):
            schema.pop("type", None)
        for inner in list(schema.values()):
            closed(inner)
    elif isinstance(schema, list):
        for inner in schema:
            closed(inner)
    return schema


def resource(path):
    definition = yaml.safe_load(pathlib.Path(path).read_text(encoding="utf-8"))["spec"]
    schema = definition["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["metadata"] = {"type": "object", "additionalProperties": True}
    schema = closed(schema)
    schema["properties"]["metadata"] = {"type": "object"}
    return definition["names"]["kind"], schema


# ---- documents that lean on each other


def check_relations(size, documents):
    expect(not documents.of("Secret"), f"{size}: the chart makes a Secret; they are named only")
    pods = [(workload["metadata"]["name"], labels) for workload in documents.workloads for labels in pods_of(workload)]
    for kind, path in [("Service", ["spec", "selector"]), ("PodDisruptionBudget", ["spec", "selector", "matchLabels"])]:
        for document in documents.of(kind):
            wanted = document
            for key in path:
                wanted = wanted[key]
            chosen = {name for name, found in pods if selects(found, wanted)}
            component = document["metadata"]["labels"]["app.kubernetes.io/component"]
            same(f"{size}: {kind} {document['metadata']['name']} selects", chosen, {component})
    for monitor in documents.of("ServiceMonitor"):
        wanted = monitor["spec"]["selector"]["matchLabels"]
        found = [service for service in documents.of("Service") if selects(service["metadata"]["labels"], wanted)]
        ports = {port["name"] for service in found for port in service["spec"]["ports"]}
        name = monitor["metadata"]["name"]
        expect(len(found) == 1, f"{size}: ServiceMonitor {name} finds {len(found)} Services")
        expect({end["port"] for end in monitor["spec"]["endpoints"]} <= ports, f"{size}: ServiceMonitor {name}: no such port")
        jobs = [service["metadata"]["labels"][monitor["spec"]["jobLabel"]] for service in found]
        same(f"{size}: ServiceMonitor {name}: job", jobs, [name])
    for scaler in documents.of("ScaledObject", "HorizontalPodAutoscaler"):
        name, spec = scaler["metadata"]["name"], scaler["spec"]
        target = documents.get("Deployment", spec["scaleTargetRef"]["name"])
        expect(target and "replicas" not in target["spec"], f"{size}: {name} has a number and an autoscaler, or no Deployment")
        least = spec.get("minReplicaCount", spec.get("minReplicas"))
        expect(least < spec.get("maxReplicaCount", spec.get("maxReplicas")), f"{size}: {name} cannot grow")
    for workload in documents.workloads:
        name, spec = workload["metadata"]["name"], pod(workload)["spec"]
        mounted = {mount["name"] for mount in container(workload)["volumeMounts"]}
        offered = {volume["name"] for volume in spec["volumes"]}
        offered |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
        same(f"{size}: {name}: volumes", mounted, offered)
        for volume in spec["volumes"]:
            if "configMap" in volume:
                expect(documents.get("ConfigMap", volume["configMap"]["name"]), f"{size}: {name}: no ConfigMap")
        pulled = {"name": "registry"} in spec.get("imagePullSecrets", [])
        expect(pulled, f"{size}: {name} does not name the Secret of its registry")
        expect(spec["automountServiceAccountToken"] is False, f"{size}: {name} has a token of Kubernetes")
        if name in SERVICES + ["haproxy"]:
            keys = {constraint["topologyKey"] for constraint in spec["topologySpreadConstraints"]}
            same(f"{size}: {name} spreads over", keys, {"kubernetes.io/hostname", "topology.kubernetes.io/zone"})
            expect(documents.get("PodDisruptionBudget", name), f"{size}: {name} has no budget")
    for name in SERVICES:
        strategy = documents.get("Deployment", name)["spec"]["strategy"]["rollingUpdate"]
        same(f"{size}: {name}: unavailable in a rollout", strategy["maxUnavailable"], 0)


# ---- networks


def peers_allow(rules, side, other, port):
    """Whether one of the rules lets a pod with these labels through, at this port."""
    for rule in rules:
        if not any(entry["port"] == port for entry in rule.get("ports", [])):
            continue
        if side not in rule:
            return True
        for peer in rule[side]:
            if "podSelector" in peer and "namespaceSelector" not in peer and "ipBlock" not in peer:
                if selects(other, peer["podSelector"]["matchLabels"]):
                    return True
    return False


def allowed(policies, source, target, port):
    """As Kubernetes adds policies up: what one allows is allowed; a pod that none selects is open."""

    def side(labels, direction, key, other):
        mine = []
        for policy in policies:
            selector = policy["spec"]["podSelector"]
            out = [rule for rule in selector.get("matchExpressions", []) if labels.get(rule["key"]) in rule["values"]]
            if selects(labels, selector["matchLabels"]) and not out and direction in policy["spec"]["policyTypes"]:
                mine.append(policy)
        rules = [rule for policy in mine for rule in policy["spec"].get(direction.lower(), [])]
        return not mine or peers_allow(rules, key, other, port)

    return side(source, "Egress", "to", target) and side(target, "Ingress", "from", source)


def check_networks(size, documents, compose):
    policies = documents.of("NetworkPolicy")
    pods = {workload["metadata"]["name"]: workload for workload in documents.workloads}
    networks = {}
    for name, workload in pods.items():
        labels = pod(workload)["metadata"]["labels"]
        networks[name] = {key.split("/")[1] for key in labels if key.startswith("whisper.network/")}
        same(f"{size}: {name}: networks", networks[name], set(compose["services"][name]["networks"]))
    for source, sender in pods.items():
        for target, receiver in pods.items():
            for port in container(receiver).get("ports", []):
                number = port["containerPort"]
                # A network carries its own ports alone. `open` comes from the world, and leads nowhere.
                network = {6379: "data", 16379: "data", 8443: None}.get(number, "edge")
                labels = [pod(workload)["metadata"]["labels"] for workload in (sender, receiver)]
                both = network in networks[source] & networks[target]
                # Nodes of Redis, and HAProxies, speak among themselves.
                both = both and (number not in (16379, 8444) or source == target)
                same(f"{size}: {source} may reach {target}:{number}", allowed(policies, *labels, number), both)
    # Whoever is in no network reaches nobody, and is reached by nobody.
    lonely = {"app.kubernetes.io/part-of": "whisper", "app.kubernetes.io/instance": "whisper"}
    for name, workload in pods.items():
        labels = pod(workload)["metadata"]["labels"]
        for port in container(workload).get("ports", []):
            expect(not allowed(policies, lonely, labels, port["containerPort"]), f"{size}: a pod without a network reaches {name}")
        expect(not allowed(policies, labels, lonely, 8080), f"{size}: {name} reaches a pod without a network")
    expect(not allowed(policies, {}, lonely, 8080), f"{size}: strangers reach a pod without a network")
    ways_out = [policy["metadata"]["name"] for policy in policies if "ipBlock" in str(policy["spec"].get("egress"))]
    same(f"{size}: ways out", sorted(ways_out), ["data", "providers", "store"] if size == "own" else ["providers"])
    # Anybody may reach the public port.
    balancer = pod(pods["haproxy"])["metadata"]["labels"]
    expect(allowed(policies, {}, balancer, 8443), f"{size}: nobody reaches the public port")
    for name in SERVICES:
        expect(not allowed(policies, {}, pod(pods[name])["metadata"]["labels"], 8081), f"{size}: strangers reach {name}")


# ---- compose.yaml and the files of deploy/


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


def mebibytes(text):
    number, unit = re.fullmatch(r"(\d+)(m|g|Mi|Gi)", text).groups()
    return int(number) * (1 if unit in ("m", "Mi") else 1024)


def default(text):
    """Of a setting of compose.yaml."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(text))


def check_compose(size, documents, compose, is_smallest):
    user = re.search(r"^USER (\d+):(\d+)$", read("deploy/Containerfile").split(" AS runtime\n")[1], re.M).groups()
    stages = dict(re.findall(r"^FROM runtime AS (\w+)\n(.*?)(?=^FROM|\Z)", read("deploy/Containerfile"), re.M | re.S))
    for workload in documents.workloads:
        name = workload["metadata"]["name"]
        place, theirs, ours = f"{size}: {name}", compose["services"][name], container(workload)
        if name in SERVICES + ["migrations"]:
            same(f"{place}: image", ours["image"], f"registry.example.org/whisper/{name}:{RELEASE}")
            wanted = (int(user[0]), int(user[1]))
            expect("command" not in ours and "args" not in ours, f"{place}: the image knows what it starts")
        else:
            if name != "objects":
                same(f"{place}: image", ours["image"], theirs["image"])
            wanted = tuple(int(part) for part in theirs["user"].split(":"))
            same(f"{place}: command", ours["command"], theirs["entrypoint"])
        if name in SERVICES:
            exposed = {8081} | {int(port) for port in re.findall(r"^EXPOSE (\d+)", stages[name], re.M)}
            same(f"{place}: ports", {port["containerPort"] for port in ours["ports"]}, exposed)
        context = pod(workload)["spec"]["securityContext"]
        same(f"{place}: user", (context["runAsUser"], context["runAsGroup"]), wanted)
        same(f"{place}: runAsNonRoot", context["runAsNonRoot"], True)
        same(f"{place}: read-only", ours["securityContext"]["readOnlyRootFilesystem"], theirs["read_only"])
        same(f"{place}: capabilities", ours["securityContext"]["capabilities"], {"drop": theirs["cap_drop"]})
        privileges = "no-new-privileges:true" not in theirs["security_opt"]
        same(f"{place}: privileges", ours["securityContext"]["allowPrivilegeEscalation"], privileges)

        memory = mebibytes(ours["resources"]["limits"]["memory"])
        bound = mebibytes(default(theirs["mem_limit"]))
        same(f"{place}: memory asked for", mebibytes(ours["resources"]["requests"]["memory"]), memory)
        if name in SERVICES or is_smallest:
            same(f"{place}: memory", memory, bound)
        expect(memory >= bound, f"{place}: less memory than in compose.yaml")
        if workload["kind"] != "Job":
            grace = seconds(theirs.get("stop_grace_period", "10s"))
            same(f"{place}: grace", pod(workload)["spec"]["terminationGracePeriodSeconds"], grace)
            health = theirs["healthcheck"]
            for kind in ["readinessProbe", "livenessProbe"]:
                same(f"{place}: {kind}: every", ours[kind]["periodSeconds"], seconds(health["interval"]))
                same(f"{place}: {kind}: waits", ours[kind]["timeoutSeconds"], seconds(health["timeout"]))
                same(f"{place}: {kind}: tries", ours[kind]["failureThreshold"], health["retries"])
            start = ours["startupProbe"]
            expect(
                start["periodSeconds"] * start["failureThreshold"] >= seconds(health["start_period"]),
                f"{place}: has less time to start than in compose.yaml")
            if name in SERVICES:
                same(f"{place}: is ready", ours["readinessProbe"]["httpGet"], {"path": "/ready", "port": "ops"})
                same(f"{place}: lives", ours["livenessProbe"]["httpGet"], {"path": "/health", "port": "ops"})
            elif "exec" in ours["readinessProbe"]:
                same(f"{place}: is asked", ["CMD"] + ours["readinessProbe"]["exec"]["command"], health["test"])
        files = set(secret_files(workload)) - {"postgres_authority.pem"}
        several = {"redis": {"redis_node"}, "haproxy": {"balancers.pem", "authority.pem"}}
        more = several.get(name, set()) if workload["kind"] == "StatefulSet" else set()
        same(f"{place}: files of secrets", files, set(theirs["secrets"]) | more)
    check_files(size, documents)


def check_environment(size, documents, compose, more):
    """Names are those of compose.yaml, and so are values that are no choice there."""
    chosen_here = {"POSTGRES_URL", "TRUSTED_PROXIES", "S3_PUBLIC_ENDPOINT", "TURN_URLS", "TURN_GUEST_URLS"}
    settings = {}
    for row in re.findall(r"^\| `(\w+)` \| ([a-z, ]+) \| (.*?) \|", read("docs/settings.md"), re.M):
        readers = SERVICES if row[1] == "all" else row[1].split(", ")
        for reader in readers:
            settings.setdefault(reader, set()).update({row[0], f"{row[0]}_FILE"} if "secret" in row[2] else {row[0]})
    for name in SERVICES + ["migrations"]:
        workload = documents.get("Job" if name == "migrations" else "Deployment", name)
        ours, theirs = environment(workload), compose["services"][name]["environment"]
        same(f"{size}: {name}: settings", set(ours), set(theirs) | more.get(name, set()))
        for key, value in theirs.items():
            if "$" not in str(value) and key not in chosen_here and key not in more.get("changed", set()):
                same(f"{size}: {name}: {key}", ours.get(key), value)
        # Containers of router and push are given TRUSTED_PROXIES and rates in compose.yaml, too, and do not read them.
        everybodys = set(compose["x-environment"]) if name in SERVICES else {"LOG_LEVEL", "POSTGRES_URL", "POSTGRES_PASSWORD_FILE"}
        unknown = set(ours) - settings.get(name, set()) - everybodys
        expect(not unknown, f"{size}: {name} has no setting {sorted(unknown)}")
        url = ours.get("POSTGRES_URL", "")
        if url:
            role = "whisper" if name == "migrations" else f"whisper_{name}"
            expect(f"user={role} sslmode=verify-full sslrootcert=" in url, f"{size}: {name}: {url}")
            certificate = url.split("sslrootcert=/run/secrets/")[1]
            expect(certificate in secret_files(workload), f"{size}: {name}: {certificate} is no file of its")
        for key, value in ours.items():
            file = value.removeprefix("/run/secrets/")
            if key.endswith("_FILE") and value:
                expect(file in secret_files(workload), f"{size}: {name}: {key} is no file of its")


def check_balancer(size, documents, compose):
    """It is told what compose.yaml tells it, and each size has room for the people at its head."""
    single, several = documents.get("Deployment", "haproxy"), documents.get("StatefulSet", "haproxy")
    expect(bool(single) != bool(several), f"{size}: haproxy is one workload")
    workload = several or single
    ours, theirs = environment(workload), compose["services"]["haproxy"]["environment"]
    ours = check_balancers(size, documents, several, ours) if several else ours
    same(f"{size}: haproxy: settings", set(ours), set(theirs))
    for name in set(theirs) - {"THREADS"}:
        same(f"{size}: haproxy: {name}", ours.get(name), default(theirs[name]))
    expect(re.fullmatch(r"|[1-9]|[1-5]\d|6[0-4]", ours.get("THREADS", "none")), f"{size}: haproxy: THREADS is {ours.get('THREADS')!r}")
    start = read("deploy/haproxy/start")
    own, each = (int(number) for number in re.search(r"most=\$\(\(\(memory - (\d+)\) / (\d+)\)\)", start).groups())
    memory = mebibytes(container(workload)["resources"]["limits"]["memory"]) * 1024
    files = int(default(compose["services"]["haproxy"]["ulimits"]["nofile"]["hard"]))
    room = min((files - 1000) // 2, (memory - own) // each) - 500
    people = PEOPLE.get(size)
    if people:
        replicas = workload["spec"]["replicas"]
        # Of several one may die.
        expect(room * max(1, replicas - 1) >= people, f"{size}: haproxy has room for {room} × {replicas}, not for {people} and a loss")


def check_balancers(size, documents, workload, given):
    """Each knows its number, and all of them by names that have an address before there is a pod. Returns its other settings."""
    numbers = range(1, workload["spec"]["replicas"] + 1)
    suffix = f".{NAMESPACE}.svc.cluster.local:8444"
    names = {f"BALANCER_{number}": f"haproxy-{number}{suffix}" for number in numbers}
    known = re.findall(r'^    server balancer_\d "\$\{(BALANCER_\d)\}"$', read("deploy/haproxy/haproxy.cfg"), re.M)
    expect(2 <= len(names) <= len(known), f"{size}: haproxy.cfg has places for {known}, not for {len(names)}")
    same(f"{size}: haproxy: the others", {key: given.get(key) for key in names}, names)
    index = re.fullmatch(r"metadata\.labels\['(.+)'\]", given.get("BALANCER", ""))
    pods = pods_of(workload)
    same(f"{size}: haproxy: numbers", [labels.get(index and index[1]) for labels in pods], [str(number) for number in numbers])
    ports = {port["name"]: port["containerPort"] for port in container(workload)["ports"]}
    listens = re.search(r"^    presetenv BALANCER_LISTEN :(\d+)$", read("deploy/haproxy/haproxy.cfg"), re.M)
    for number, labels in zip(numbers, pods):
        spec = documents.get("Service", f"haproxy-{number}")["spec"]
        chosen = [pod for pod in pods if selects(pod, spec["selector"])]
        same(f"{size}: Service haproxy-{number}: pods", chosen, [labels])
        expect("clusterIP" not in spec, f"{size}: Service haproxy-{number} has no address of its own")
        same(f"{size}: Service haproxy-{number}: before ready", spec["publishNotReadyAddresses"], True)
        port = spec["ports"][0]
        same(f"{size}: Service haproxy-{number}: port", (port["port"], ports[port["targetPort"]]), (8444, int(listens[1])))
    same(f"{size}: haproxy: start", workload["spec"]["podManagementPolicy"], "Parallel")
    return {key: value for key, value in given.items() if not key.startswith("BALANCER")}


def check_redis(size, documents, chosen):
    """Half of the nodes are masters, each is known by the name that certificates have, and services ask any of them."""
    nodes = chosen["redis"].get("nodes", 1)
    cluster, single = documents.get("StatefulSet", "redis"), documents.get("Deployment", "redis")
    asked = {environment(documents.get("Deployment", name)).get("REDIS_NODES") for name in SERVICES}
    same(f"{size}: redis: several", nodes > 1, size in ["medium", "large"])
    if nodes == 1:
        same(f"{size}: redis: one process", (single["spec"]["replicas"], cluster, asked), (1, None, {None}))
        return
    same(f"{size}: redis: no single process", single, None)
    same(f"{size}: redis: services ask", asked, {"redis:6379"})
    expect(documents.get("Service", "redis") and documents.get("PodDisruptionBudget", "redis"), f"{size}: redis: no Service or budget")
    spec = cluster["spec"]
    given = environment(cluster)
    names = [f"redis-{number}.{spec['serviceName']}" for number in range(nodes)]
    same(f"{size}: redis: nodes", (spec["replicas"], given["CLUSTER_NODES"].split()), (nodes, names))
    same(f"{size}: redis: masters", int(given["CLUSTER_MASTERS"]) * 2, nodes)
    same(f"{size}: redis: a node's own", (given["POD"], given["NAME"], given["ADDRESS"]),
         ("metadata.name", f"$(POD).{spec['serviceName']}", "status.podIP"))
    headless = documents.get("Service", spec["serviceName"])["spec"]
    same(f"{size}: redis: names before ready", (headless["clusterIP"], headless["publishNotReadyAddresses"]), ("None", True))
    terms = spec["template"]["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    labels = spec["template"]["metadata"]["labels"]
    apart = [term["podAffinityTerm"]["topologyKey"] for term in terms
             if selects(labels, term["podAffinityTerm"]["labelSelector"]["matchLabels"])]
    same(f"{size}: redis: apart", apart, ["kubernetes.io/hostname"])
    made = re.search(r"for number in ([\d ]+); do names=\"\$names,DNS:redis-\$number\.redis-nodes\"", read("deploy/make-secrets"))
    expect(made and len(made[1].split()) >= nodes, f"{size}: redis: the certificate lacks names of nodes")


def check_files(size, documents):
    """Files of containers are those of deploy/. In HAProxy's names stand in full, and each is a Service."""
    files = {name: documents.get("ConfigMap", name) for name in ["haproxy", "redis", "objects"]}
    for name, config in files.items():
        if config is None:
            continue
        for file, text in config["data"].items():
            original = read(f"deploy/{name}/{file}")
            if file == "haproxy.cfg":
                suffix = f".{NAMESPACE}.svc.cluster.local"
                for known in re.findall(r"server-template \S+ \S+ (\S+):\d+", text):
                    expect(known.endswith(suffix), f"{size}: haproxy.cfg: {known} is not a name in full")
                    service = known.removesuffix(suffix)
                    if service != "grafana" and (service != "objects" or files["objects"]):
                        found = documents.get("Service", service)
                        expect(found and found["spec"].get("clusterIP") == "None", f"{size}: haproxy.cfg: no Service {service}")
                text = text.replace(f"{suffix}:", ":")
            expect(text == original, f"{size}: {name}'s {file} is not deploy/{name}/{file}")
    room = dict(re.findall(r"server-template (\w+) 1-(\d+) \w+:8081\b", read("deploy/haproxy/haproxy.cfg")))
    for name in SERVICES:
        deployment, scaler = documents.get("Deployment", name), documents.get("ScaledObject", name)
        most = (scaler or {}).get("spec", {}).get("maxReplicaCount") or deployment["spec"].get("replicas", 1)
        expect(most <= int(room[name]), f"{size}: HAProxy knows {room[name]} of {name}, not {most}")


def check_postgres(size, documents, compose):
    cluster = documents.get("Cluster", "postgres")
    script = read("deploy/postgres/start") + read("deploy/postgres/roles")
    rules = re.findall(r"^(hostssl\s+whisper .*)$", script, re.M)
    ours = [rule for rule in cluster["spec"]["postgresql"]["pg_hba"] if rule.startswith("hostssl")]
    same(f"{size}: pg_hba", ours, [" ".join(rule.split()) for rule in rules])
    same(f"{size}: everybody else", cluster["spec"]["postgresql"]["pg_hba"][-1], "host all all all reject")
    statements = cluster["spec"]["bootstrap"]["initdb"]["postInitApplicationSQL"]
    for statement in statements:
        expect(f"{statement};" in script, f"{size}: deploy/postgres/roles does not say {statement!r}")
    same(f"{size}: rights", len(statements), len(re.findall(r"^(?:REVOKE|GRANT) ", script, re.M)))
    roles = {role["name"]: role for role in cluster["spec"]["managed"]["roles"]}
    same(f"{size}: roles", set(roles), {f"whisper_{name}" for name in SERVICES if name != "gateway"})
    created = {f"CREATE ROLE {role} NOLOGIN" for role in roles}
    same(f"{size}: roles there before rights", set(cluster["spec"]["bootstrap"]["initdb"]["postInitSQL"]), created)
    for name, role in roles.items():
        powers = [power for power in ["superuser", "createdb", "createrole", "bypassrls", "replication"] if role[power]]
        expect(not powers, f"{size}: {name} may {powers}")
        service = name.removeprefix("whisper_")
        files = secret_files(documents.get("Deployment", service))
        same(f"{size}: {name}'s password", files[f"postgres_{service}"], role["passwordSecret"]["name"])
    same(f"{size}: Postgres' time to stop", cluster["spec"]["stopDelay"], seconds(compose["services"]["postgres"]["stop_grace_period"]))
    for name in ["password_encryption", "fsync", "synchronous_commit"]:
        expect(f"{name}={cluster['spec']['postgresql']['parameters'][name]}" in script, f"{size}: Postgres' {name}")
    expect(cluster["spec"]["instances"] == 1 or "synchronous" in cluster["spec"]["postgresql"], f"{size}: a commit waits for nobody")


# ---- queries


def check_queries(size, documents):
    """Every query is one, and asks for what services export."""
    exported = set(re.findall(r'"(whisper_\w+)"', read("Shared/Telemetry/MetricName.swift")))
    exported |= set(re.findall(r'"(process_\w+)"', read("Shared/ServiceRuntime/Metrics/ProcessStatistics.swift")))
    expect(len(exported) > 50, "the list of metrics was not found")
    rules = []
    for scaler in documents.of("ScaledObject"):
        for trigger in scaler["spec"]["triggers"]:
            query = trigger["metadata"]["query"]
            rules.append({"record": "asked", "expr": query})
            for name in re.findall(r"\b((?:whisper|process)_\w+?)(?:_bucket|_sum|_count)?\{", query):
                expect(name in exported, f"{size}: no service exports {name}")
            expect(f'namespace="{NAMESPACE}"' in query, f"{size}: {query} asks for other namespaces")
            expect(f'job="{scaler["metadata"]["name"]}"' in query, f"{size}: {query} asks for another service")
    groups = [{"name": "scaling", "rules": rules}]
    own = yaml.safe_load(read("deploy/prometheus/alerts.yml"))["groups"]
    for rule in documents.of("PrometheusRule"):
        groups += rule["spec"]["groups"]
        for ours, theirs in zip(rule["spec"]["groups"], own):
            wanted = [alert for alert in theirs["rules"] if not alert["alert"].startswith("Backup")]
            same(f"{size}: alerts", [alert["alert"] for alert in ours["rules"]], [alert["alert"] for alert in wanted])
            for alert, original in zip(ours["rules"], wanted):
                bare = alert["expr"].replace(f'{{namespace="{NAMESPACE}",', "{").replace(f'{{namespace="{NAMESPACE}"}}', "")
                same(f"{size}: {alert['alert']}", bare, original["expr"])
                asked = re.findall(r"\b(?:(?:whisper|haproxy)_\w+|up)\b(?!\{namespace=)", alert["expr"])
                expect(not asked, f"{size}: {alert['alert']} asks for other namespaces: {asked}")
                same(f"{size}: {alert['alert']}", {**alert, "expr": ""}, {**original, "expr": ""})
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        yaml.safe_dump({"groups": groups}, file)
        file.flush()
        result = subprocess.run([PROMTOOL, "check", "rules", file.name], capture_output=True, text=True)
        expect(result.returncode == 0, f"{size}: promtool: {result.stdout}{result.stderr}")


# ---- what is refused

REFUSED = {
    "publicHost": {"publicHost": ""},
    "haproxy.addresses": {"haproxy": {"addresses": []}},
    "more replicas than addresses": {"haproxy": {"replicas": 15}},
    # By values.schema.json too: a name is no address.
    "addresses": {"haproxy": {"addresses": ["lan"]}},
    "turnUrls": {"turnUrls": []},
    "redis.address.cidr": {"redis": {"address": {"host": "redis.example.org"}}},
    "postgres.address.cidr": {"postgres": {"address": {"host": "postgres.example.org"}}},
    "objects.address.cidr": {"objects": {"address": {"endpoint": "https://s3.example.org"}}},
    "postgres.maxConnections": {"services": {"router": {"replicas": 32}}, "autoscaling": {"kind": "none"}},
    # By values.schema.json.
    "maximum": {"services": {"gateway": {"replicas": 33}}},
    "additional properties": {"service": {}},
    "logLevel": {"logLevel": "loud"},
    "threads": {"haproxy": {"threads": 65}},
    "nodes": {"redis": {"nodes": 7}},
}


def check_refusals(chart, base):
    for words, change in REFUSED.items():
        try:
            rendered(chart, merged(base, change))
            problems.append(f"{change} is not refused")
        except helm_python.HelmError as error:
            expect(words in str(error), f"{change} is refused, but not because of {words!r}: {error}")


def check_archive(chart, chosen):
    """The chart of a release, which has no checkout around it, makes the same as the one here."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ROOT / "deploy/make-chart", folder], check=True)
        [archive] = pathlib.Path(folder).iterdir()
        with tarfile.open(archive) as opened:
            expect(not [member.name for member in opened if member.issym()], "the archive of the chart has links")
            opened.extractall(folder)
        try:
            with helm_python.Chart.load(f"{folder}/whisper") as packed:
                expect(rendered(packed, chosen) == rendered(chart, chosen), "the archive of the chart makes other documents")
        except helm_python.HelmError as error:
            problems.append(f"the archive of the chart: {error}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--crd", action="append", default=[])
    resources = dict(resource(path) for path in parser.parse_args().crd)
    compose = yaml.safe_load(read("compose.yaml"))
    sizes = {
        "small": values("values-small.yaml", "site.yaml"),
        "medium": values("values-medium.yaml", "site.yaml"),
        "large": values("values-large.yaml", "site.yaml"),
        "own": values("values-medium.yaml", "site.yaml", "own.yaml"),
    }
    # What addresses of one's own, and settings of one's own, add in own.yaml.
    cluster = {name: {"REDIS_NODES"} for name in SERVICES}
    more = {name: {"REDIS_PORT", "REDIS_NODES"} for name in SERVICES}
    more["attachments"] = more["attachments"] | {"S3_REGION", "S3_STYLE"}
    more["router"] = more["router"] | {"PENDING_TTL_SECONDS"}
    more["changed"] = {"REDIS_HOST", "S3_ENDPOINT"}
    count = 0
    with helm_python.Chart.load(str(CHART)) as chart:
        for size, chosen in sizes.items():
            report = helm_python.lint(str(CHART), chosen, strict=True, namespace=NAMESPACE)
            found = [message for message in report["messages"] if message["severity"] > 1]
            expect(not found and not report["errors"], f"{size}: lint: {found} {report['errors']}")
            documents = Documents(rendered(chart, chosen))
            count += len(documents.all)
            same(f"{size}: two documents have one name", len(documents.by_name), len(documents.all))
            before = len(problems)
            validate(size, documents, resources)
            if len(problems) > before:
                continue  # What is not valid cannot be compared.
            check_relations(size, documents)
            check_networks(size, documents, compose)
            check_compose(size, documents, compose, size == "small")
            check_balancer(size, documents, compose)
            check_environment(size, documents, compose, more if size == "own" else cluster if size != "small" else {})
            check_queries(size, documents)
            if size != "own":
                check_redis(size, documents, chosen)
                check_postgres(size, documents, compose)
        own = Documents(rendered(chart, sizes["own"]))
        same("own: what is left to others", [own.get("Cluster", "postgres"), own.get("Deployment", "redis"), own.get("StatefulSet", "objects")], [None] * 3)
        same("own: a Secret of one's own", secret_files(own.get("Deployment", "auth"))["admin_token"], "whisper-operators")
        check_refusals(chart, sizes["medium"])
        check_archive(chart, sizes["large"])
    for problem in dict.fromkeys(problems):
        print(problem)
    print(f"{count} documents, {len(set(problems))} problems")
    return 1 if problems or count < 100 else 0


sys.exit(main())
