{{/*
Facts about the six services that are no choice: as in compose.yaml and docs/operations.md ("Scale").
connections: sessions of Postgres that one process takes. most: processes that HAProxy or the shares allow.
*/}}
{{- define "whisper.services" -}}
gateway:     { http: true,  networks: [edge, data], connections: 0, most: 32, grace: 75 }
auth:        { http: true,  networks: [edge, data], connections: 8, most: 16, grace: 20 }
router:      { http: false, networks: [edge, data], connections: 5, most: 32, grace: 20 }
push:        { http: false, networks: [edge, data, providers], connections: 4, most: 16, grace: 20 }
attachments: { http: true,  networks: [edge, data], connections: 8, most: 16, grace: 20 }
calls:       { http: true,  networks: [edge, data], connections: 2, most: 8, grace: 20 }
{{- end }}

{{/* Names are those of compose.yaml, because certificates, HAProxy and alerts know them. So: one release in a namespace. */}}
{{- define "whisper.labels" -}}
app.kubernetes.io/name: whisper
app.kubernetes.io/part-of: whisper
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "whisper.selector" -}}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{/* Networks of compose.yaml are labels here; templates/networks.yaml says what they allow. */}}
{{- define "whisper.networks" -}}
{{- range . }}
whisper.network/{{ . }}: "true"
{{- end }}
{{- end }}

{{- define "whisper.image" -}}
{{ .root.Values.images.registry }}/{{ .name }}:{{ .root.Values.images.version | default .root.Chart.AppVersion }}
{{- end }}

{{- define "whisper.contained" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: { drop: [ALL] }
{{- end }}

{{/* user: the one of compose.yaml, or of the image. */}}
{{- define "whisper.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .group | default .user }}
  {{- if .owns }}
  # Volumes that are written to belong to this group.
  fsGroup: {{ .group | default .user }}
  {{- end }}
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.images.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "whisper.resources" -}}
requests: { cpu: {{ .cpu }}, memory: {{ .memory }} }
# No limit of CPU: a process that is throttled in the middle of a batch makes all of it late.
limits: { memory: {{ .memory }} }
{{- end }}

{{- define "whisper.spread" -}}
{{- $spread := .root.Values.spread -}}
- topologyKey: kubernetes.io/hostname
  maxSkew: 1
  whenUnsatisfiable: {{ $spread.nodes }}
  labelSelector: { matchLabels: {{ include "whisper.selector" . | fromYaml | toJson }} }
- topologyKey: topology.kubernetes.io/zone
  maxSkew: 1
  whenUnsatisfiable: {{ $spread.zones }}
  labelSelector: { matchLabels: {{ include "whisper.selector" . | fromYaml | toJson }} }
{{- end }}

{{/*
Files below /run/secrets, as in compose.yaml: a volume of the Secrets that hold them. `optional` ones may be absent there.
*/}}
{{- define "whisper.secrets" -}}
{{- $values := .root.Values -}}
name: secrets
projected:
  # One container, one user, nobody else: as the files of compose.yaml.
  defaultMode: 0444
  sources:
  {{- range .keys }}
    {{- if and (hasPrefix "postgres_" .) (not $values.postgres.address.host) }}
    - secret: { name: {{ replace "_" "-" . }}, items: [{ key: password, path: {{ . }} }] }
    {{- else }}
    - secret: { name: {{ get $values.secrets.elsewhere . | default $values.secrets.name }}, items: [{ key: {{ . }}, path: {{ . }} }] }
    {{- end }}
  {{- end }}
  {{- range .optional }}
    - secret: { name: {{ get $values.secrets.elsewhere . | default $values.secrets.name }}, items: [{ key: {{ . }}, path: {{ . }} }], optional: true }
  {{- end }}
  {{- if and .postgres (not $values.postgres.address.host) }}
    # CloudNativePG makes an authority of its own, and this Secret.
    - secret: { name: postgres-ca, items: [{ key: ca.crt, path: postgres_authority.pem }] }
  {{- end }}
{{- end }}

{{/* A name that reaches Redis, S3 or Postgres. */}}
{{- define "whisper.postgres" -}}
{{- $postgres := .root.Values.postgres -}}
{{- if $postgres.address.host -}}
host={{ $postgres.address.host }} port={{ $postgres.address.port }} dbname=whisper user={{ .user }} sslmode=verify-full sslrootcert=/run/secrets/authority.pem
{{- else -}}
host=postgres-rw dbname=whisper user={{ .user }} sslmode=verify-full sslrootcert=/run/secrets/postgres_authority.pem
{{- end -}}
{{- end }}

{{/* Every autoscaler's patience: a client of a gateway that goes must connect again. */}}
{{- define "whisper.behavior" -}}
scaleUp:
  stabilizationWindowSeconds: 30
  policies: [{ type: Percent, value: 100, periodSeconds: 60 }]
scaleDown:
  stabilizationWindowSeconds: 900
  policies: [{ type: Pods, value: 1, periodSeconds: 300 }]
{{- end }}

{{/* Whether HAProxies tell each other what they count: haproxy.cfg has places for four. Else empty. */}}
{{- define "whisper.balancers" -}}
{{- $replicas := int .Values.haproxy.replicas -}}
{{- if and (ge $replicas 2) (le $replicas 4) }}yes{{ end -}}
{{- end }}

{{/* What cannot work is refused here, before anything is changed. */}}
{{- define "whisper.check" -}}
{{- $values := .Values -}}
{{- if not $values.publicHost }}{{ fail "publicHost: the name that clients connect to is needed" }}{{ end -}}
{{- if not $values.haproxy.addresses }}{{ fail "haproxy.addresses: the addresses that HAProxy's pods may have are needed. Without them all clients count as one (docs/operations.md, Kubernetes)" }}{{ end -}}
{{- if and (not (contains "/" (join "," $values.haproxy.addresses))) (gt (int $values.haproxy.replicas) (len $values.haproxy.addresses)) }}{{ fail "haproxy.addresses: there are more replicas than addresses" }}{{ end -}}
{{- if not $values.turnUrls }}{{ fail "turnUrls: the relay for calls is outside of this chart, its addresses are needed" }}{{ end -}}
{{- range $what := list "postgres" "redis" }}
{{- $address := (get $values $what).address -}}
{{- if and $address.host (not $address.cidr) }}{{ fail (printf "%s.address.cidr: the network policy needs the addresses behind %s" $what $address.host) }}{{ end -}}
{{- end -}}
{{- if and $values.objects.address.endpoint (not $values.objects.address.cidr) }}{{ fail "objects.address.cidr: the network policy needs the addresses behind objects.address.endpoint" }}{{ end -}}
{{- $sessions := dict "of" 0 -}}
{{- range $name, $facts := include "whisper.services" . | fromYaml }}
{{- $service := get $values.services $name -}}
{{- $most := max $service.replicas (ternary $service.replicas $service.max (eq $values.autoscaling.kind "none")) -}}
{{- if gt (int $most) (int $facts.most) }}{{ fail (printf "services.%s: %d processes at most, not %d" $name (int $facts.most) (int $most)) }}{{ end -}}
{{- /* One more of each while it is replaced. */ -}}
{{- $_ := set $sessions "of" (add $sessions.of (mul (add $most 1) $facts.connections)) -}}
{{- end -}}
{{- /* Migrations, a person with psql, and what CloudNativePG and its standbys take. */ -}}
{{- $needed := add $sessions.of 20 -}}
{{- if gt $needed (int64 $values.postgres.maxConnections) }}{{ fail (printf "postgres.maxConnections: the services may need %d sessions" $needed) }}{{ end -}}
{{- end }}

{{/* Times of compose.yaml: interval, timeout, retries, start_period. `ready` and `alive` say how a process is asked. */}}
{{- define "whisper.probes" -}}
startupProbe: { {{ .alive }}, periodSeconds: {{ .every | default 5 }}, timeoutSeconds: 4, failureThreshold: 4 }
livenessProbe: { {{ .alive }}, periodSeconds: {{ .every | default 5 }}, timeoutSeconds: 4, failureThreshold: 3 }
readinessProbe: { {{ .ready | default .alive }}, periodSeconds: {{ .every | default 5 }}, timeoutSeconds: 4, failureThreshold: 3 }
{{- end }}
