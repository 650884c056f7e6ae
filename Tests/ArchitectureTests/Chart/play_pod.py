"""Writes the pod of one service of the chart, for `podman kube play`: play_pod.py SERVICE VERSION SECRETS

It is what the chart makes, but for four things. podman 4.3 knows no projected volumes, so each secret is a file of the folder
SECRETS. It pulls nothing, because the images are here. There are no nodes to spread over. And podman asks probes with a shell and
curl, which are not in the image: whoever plays the pod asks `whisper-SERVICE ready` in it.
"""
import sys

import helm_python
import yaml

from chart import CHART, container, merged, pod, rendered, secret_files, values

service, version, secrets = sys.argv[1:]
images = {"images": {"registry": "localhost/whisper", "version": version, "pullPolicy": "Never", "pullSecrets": []}}
with helm_python.Chart.load(str(CHART)) as chart:
    documents = rendered(chart, merged(values("values-small.yaml", "site.yaml"), images))
[deployment] = [one for one in documents if (one["kind"], one["metadata"]["name"]) == ("Deployment", service)]
spec = pod(deployment)["spec"]
files = {name.replace("_", "-").replace(".", "-"): name for name in secret_files(deployment)}
spec["volumes"] = [{"name": name, "hostPath": {"path": f"{secrets}/{file}", "type": "File"}} for name, file in files.items()]
container(deployment)["volumeMounts"] = [
    {"name": name, "mountPath": f"/run/secrets/{file}", "readOnly": True} for name, file in files.items()]
del spec["topologySpreadConstraints"]
# A published port is of no use here: it is asked from inside.
del container(deployment)["ports"]
for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
    del container(deployment)[probe]
metadata = {"name": f"chart-{service}", "labels": pod(deployment)["metadata"]["labels"]}
print(yaml.safe_dump({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
