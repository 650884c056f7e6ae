{{/* Variables of each service: the names of compose.yaml, and those of an address of one's own. */}}
{{- define "whisper.environment" -}}
{{- $values := .root.Values -}}
{{- $redis := $values.redis.address -}}
- { name: LOG_LEVEL, value: {{ $values.logLevel | quote }} }
- { name: RATE_LIMIT_SCALE, value: {{ $values.rateLimitScale | quote }} }
- { name: RATE_LIMITS, value: {{ $values.rateLimits | quote }} }
- { name: RATE_CLASSES, value: {{ $values.rateClasses | quote }} }
- { name: TRUSTED_PROXIES, value: {{ join "," $values.haproxy.addresses | quote }} }
- { name: REDIS_HOST, value: {{ $redis.host | default "redis" | quote }} }
{{- if $redis.host }}
- { name: REDIS_PORT, value: {{ $redis.port | quote }} }
{{- end }}
{{- if $redis.nodes }}
- { name: REDIS_NODES, value: {{ join "," $redis.nodes | quote }} }
{{- else if and (not $redis.host) (gt (int $values.redis.nodes) 1) }}
# Any node says who serves what.
- { name: REDIS_NODES, value: "redis:6379" }
{{- end }}
- { name: REDIS_TLS_AUTHORITY, value: /run/secrets/authority.pem }
- { name: REDIS_USER, value: {{ .name }} }
- { name: REDIS_PASSWORD_FILE, value: /run/secrets/redis_{{ .name }} }
{{- if ne .name "gateway" }}
- { name: POSTGRES_URL, value: {{ include "whisper.postgres" (dict "root" .root "user" (printf "whisper_%s" .name)) | quote }} }
- { name: POSTGRES_PASSWORD_FILE, value: /run/secrets/postgres_{{ .name }} }
{{- end }}
{{- if has .name (list "auth" "attachments") }}
- { name: ADMIN_TOKEN_FILE, value: /run/secrets/admin_token }
- { name: VIEWER_TOKEN_FILE, value: /run/secrets/viewer_token }
{{- end }}
{{- if eq .name "auth" }}
- { name: DATABASE_BYTES_MAX, value: {{ $values.postgres.bytesMax | int64 | quote }} }
- { name: PROMETHEUS, value: {{ $values.console.prometheus | quote }} }
- { name: CERTIFICATE_OF, value: {{ $values.console.certificateOf | quote }} }
- { name: REGISTRATION, value: {{ $values.registration | quote }} }
- { name: INVITATIONS_PER_DAY, value: {{ $values.invitations.perDay | quote }} }
- { name: INVITATIONS_KEEP, value: {{ $values.invitations.keep | quote }} }
- { name: SERVER_NAME, value: {{ $values.server.name | quote }} }
- { name: SERVER_OPERATOR, value: {{ $values.server.operator | quote }} }
- { name: SERVER_PRIVACY, value: {{ $values.server.privacy | quote }} }
- { name: GUESTS, value: {{ $values.server.guests | quote }} }
- { name: BACKUP_KEEP_DAYS, value: {{ $values.server.backupDays | quote }} }
- { name: AUDIT_DAYS, value: {{ $values.server.auditDays | quote }} }
- { name: GUEST_DAYS, value: {{ $values.server.guestDays | quote }} }
- { name: DEAD_LETTER_DAYS, value: {{ $values.server.deadLetterDays | quote }} }
- { name: INACTIVE_DAYS, value: {{ $values.server.inactiveDays | quote }} }
{{- else if eq .name "push" }}
{{- $push := $values.push }}
- { name: DEAD_LETTER_DAYS, value: {{ $values.server.deadLetterDays | quote }} }
- { name: APNS_KEY_FILE, value: {{ ternary "/run/secrets/apns_key.p8" "" (ne $push.apns.keyId "") | quote }} }
- { name: APNS_KEY_ID, value: {{ $push.apns.keyId | quote }} }
- { name: APNS_TEAM_ID, value: {{ $push.apns.teamId | quote }} }
- { name: APNS_BUNDLE_ID, value: {{ $push.apns.bundleId | quote }} }
- { name: APNS_MAIL_TYPE, value: {{ $push.apns.mailType | quote }} }
- { name: APNS_URL, value: {{ $push.apns.url | quote }} }
- { name: FCM_ACCOUNT_FILE, value: {{ ternary "/run/secrets/fcm_account.json" "" $push.fcm | quote }} }
- { name: WEBPUSH_KEY_FILE, value: {{ ternary "/run/secrets/webpush_key.pem" "" (ne $push.webpushContact "") | quote }} }
- { name: WEBPUSH_CONTACT, value: {{ $push.webpushContact | quote }} }
{{- else if eq .name "attachments" }}
{{- $address := $values.objects.address }}
- { name: STORE, value: s3 }
- { name: S3_ENDPOINT, value: {{ $address.endpoint | default "http://objects:9000" | quote }} }
{{- if $address.endpoint }}
- { name: S3_PUBLIC_ENDPOINT, value: {{ $address.publicEndpoint | quote }} }
- { name: S3_REGION, value: {{ $address.region | quote }} }
- { name: S3_STYLE, value: {{ $address.style | quote }} }
{{- else }}
- { name: S3_PUBLIC_ENDPOINT, value: {{ printf "https://%s:%d" $values.publicHost (int $values.publicPort) | quote }} }
{{- end }}
- { name: S3_BUCKET, value: {{ $values.objects.bucket | quote }} }
- { name: S3_ACCESS_KEY_FILE, value: /run/secrets/objects_access_key }
- { name: S3_SECRET_KEY_FILE, value: /run/secrets/objects_secret_key }
{{- else if eq .name "calls" }}
- { name: TURN_URLS, value: {{ join "," $values.turnUrls | quote }} }
- { name: TURN_GUEST_URLS, value: {{ join "," ($values.turnGuestUrls | default $values.turnUrls) | quote }} }
- { name: TURN_SECRET_FILE, value: /run/secrets/turn_secret }
{{- end }}
{{- end }}

{{/* Files below /run/secrets of each service: those of compose.yaml. Keys of providers may be absent. */}}
{{- define "whisper.files" -}}
keys:
  - authority.pem
  - redis_{{ .name }}
  {{- if ne .name "gateway" }}
  - postgres_{{ .name }}
  {{- end }}
  {{- if eq .name "attachments" }}
  - objects_access_key
  - objects_secret_key
  {{- end }}
  {{- if has .name (list "auth" "attachments") }}
  - admin_token
  - viewer_token
  {{- end }}
  {{- if eq .name "calls" }}
  - turn_secret
  {{- end }}
optional:
  {{- if eq .name "push" }}
  - apns_key.p8
  - fcm_account.json
  - webpush_key.pem
  {{- end }}
{{- end }}
