{{- /* Environment variables, grouped by purpose. */ -}}
{{- define "matte.fromSecret" -}}
- name: {{ .name }}
  valueFrom: { secretKeyRef: { name: {{ .secret | quote }}, key: {{ .key | quote }} } }
{{- end -}}

{{- define "matte.env.common" -}}
- { name: MATTE_ENV, value: production }
- { name: HOST, value: {{ ternary "::" "0.0.0.0" .Values.ipv6 | quote }} }
{{- include "matte.env.authorities" . }}
{{- include "matte.env.tls" . }}
{{- with .Values.plans }}
- { name: PLANS, value: {{ toJson . | quote }} }
{{- end }}
{{- end -}}

{{- define "matte.env.authorities" -}}
{{- if or .Values.trustedAuthorities.configMap .Values.trustedAuthorities.secret }}
- { name: TRUSTED_CA_FILE, value: /etc/matte/authorities/ca.crt }
{{- end }}
{{- end -}}

{{- /* Connections that production requires TLS of. The URLs are in Secrets, so the processes check them. */ -}}
{{- define "matte.env.tls" -}}
{{- if eq .Values.mode "production" }}
{{- $required := list }}
{{- range list "database" "nats" "store" }}
{{- if not (has . $.Values.insecure) }}{{ $required = append $required . }}{{ end }}
{{- end }}
{{- with $required }}
- { name: TLS_REQUIRED, value: {{ join "," . | quote }} }
{{- end }}
{{- end }}
{{- end -}}

{{- define "matte.env.licences" -}}
{{- with .Values.models.allowedLicences }}
- { name: MODELS_ALLOWED_LICENCES, value: {{ join "," . | quote }} }
{{- end }}
{{- end -}}

{{- define "matte.env.namespace" -}}
- name: KUBE_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
{{- end -}}

{{- define "matte.env.namespaces" -}}
{{- include "matte.env.namespace" . }}
{{- with include "matte.namespaces" . | fromJsonArray }}
- { name: KUBE_NAMESPACES, value: {{ join "," . | quote }} }
{{- end }}
{{- end -}}

{{- define "matte.env.release" -}}
- { name: POOL_RELEASE, value: {{ include "matte.fullname" . }} }
- { name: UNLABELLED_POOLS, value: {{ ternary "on" "off" .Values.operator.unlabelledPools | quote }} }
{{- end -}}

{{- define "matte.env.referral" -}}
- { name: REFERRAL_REWARD_CREDITS, value: {{ .Values.referral.rewardCredits | quote }} }
{{- end -}}

{{- define "matte.env.audit" -}}
- { name: AUDIT_RETENTION_DAYS, value: {{ .Values.audit.retentionDays | quote }} }
{{- end -}}

{{- define "matte.env.retention" -}}
{{- with .Values.retention.defaultSeconds }}
- { name: DEFAULT_RETENTION_SECONDS, value: {{ int64 . | quote }} }
{{- end }}
{{- end -}}

{{- /* Key of a component's URL: its entry in `keys`, or `key` for the owner's URL. */ -}}
{{- define "matte.databaseKey" -}}
{{- index (.secret.keys | default dict) .component | default .secret.key -}}
{{- end -}}

{{- /* Database settings of a component: `api`, `worker`, `operator`, `dispatcher`, or `setup` for the owner. */ -}}
{{- define "matte.env.database" -}}
{{- $database := .root.Values.database -}}
{{- $component := .component -}}
{{- if $database.existingSecret.name -}}
{{- include "matte.fromSecret" (dict "name" "DATABASE_URL" "secret" $database.existingSecret.name "key" (include "matte.databaseKey" (dict "secret" $database.existingSecret "component" $component))) }}
{{- else -}}
{{- include "matte.fromSecret" (dict "name" "DATABASE_URL" "secret" (include "matte.secretName" .root) "key" (ternary "DATABASE_URL" (printf "DATABASE_URL_%s" (upper $component)) (eq $component "setup"))) }}
{{- end }}
- { name: DATABASE_POOL_MAX, value: {{ $database.poolMax | quote }} }
{{- with $database.sslMode }}
- { name: PGSSLMODE, value: {{ . }} }
{{- end }}
{{- if eq $database.pooler "transaction" }}
- { name: DATABASE_POOLER, value: transaction }
{{- end }}
{{- with $database.directSecret }}
{{- if .name }}
{{ include "matte.fromSecret" (dict "name" "DATABASE_DIRECT_URL" "secret" .name "key" (include "matte.databaseKey" (dict "secret" . "component" $component))) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* URLs of the roles in the built-in PostgreSQL, for the step that creates them. */ -}}
{{- define "matte.env.databaseRoles" -}}
{{- range $component := list "api" "worker" "operator" "dispatcher" }}
{{ include "matte.fromSecret" (dict "name" (printf "DATABASE_URL_%s" (upper $component)) "secret" (include "matte.secretName" $) "key" (printf "DATABASE_URL_%s" (upper $component))) }}
{{- end }}
{{- end -}}

{{- /* Components that share the owner's database user. */ -}}
{{- define "matte.sharedDatabaseUser" -}}
{{- $secret := .Values.database.existingSecret -}}
{{- if $secret.name -}}
{{- range $component := list "api" "worker" "operator" "dispatcher" }}{{ if not (index ($secret.keys | default dict) $component) }}{{ $component }} {{ end }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "matte.env.nats" -}}
{{- $own := .Values.nats.existingSecret -}}
{{- include "matte.fromSecret" (dict "name" "NATS_URL" "secret" ($own.name | default (include "matte.secretName" .)) "key" (ternary $own.key "NATS_URL" (ne $own.name ""))) }}
- { name: NATS_REPLICAS, value: {{ .Values.nats.replicas | quote }} }
{{- if .Values.nats.credsSecret.name }}
- { name: NATS_CREDS_FILE, value: /etc/matte/nats-creds/user.creds }
{{- end }}
{{- if .Values.nats.certificateSecret.name }}
- { name: NATS_CERT_FILE, value: /etc/matte/nats-certificate/tls.crt }
- { name: NATS_KEY_FILE, value: /etc/matte/nats-certificate/tls.key }
{{- end }}
- { name: NATS_STREAM_PREFIX, value: {{ .Values.nats.streamPrefix | default (printf "%s-%s" .Release.Namespace (include "matte.fullname" .) | trunc 64) | quote }} }
{{- end -}}

{{- define "matte.env.store" -}}
{{- $store := .Values.objectStore -}}
{{- $own := $store.existingSecret -}}
{{- $secret := $own.name | default (include "matte.secretName" .) -}}
- { name: S3_ENDPOINT, value: {{ ternary (printf "http://%s-object-store:7070" (include "matte.fullname" .)) $store.endpoint $store.builtIn | quote }} }
- { name: S3_BUCKET, value: {{ $store.bucket | quote }} }
- { name: S3_REGION, value: {{ $store.region | quote }} }
{{- if eq $store.credentials "ambient" }}
- { name: S3_CREDENTIALS, value: ambient }
# Without this, a pod without an identity would use its node's identity from the metadata service.
- { name: AWS_EC2_METADATA_DISABLED, value: "true" }
{{- if include "matte.projectedIdentity" . }}
- { name: AWS_ROLE_ARN, value: {{ $store.identity.roleArn | quote }} }
- { name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /var/run/secrets/matte.dev/store/token }
{{- end }}
{{- with $store.identity.stsEndpoint }}
- { name: AWS_ENDPOINT_URL_STS, value: {{ . | quote }} }
{{- end }}
{{- else }}
{{ include "matte.fromSecret" (dict "name" "S3_ACCESS_KEY_ID" "secret" $secret "key" (ternary $own.accessKeyIdKey "S3_ACCESS_KEY_ID" (ne $own.name ""))) }}
{{ include "matte.fromSecret" (dict "name" "S3_SECRET_ACCESS_KEY" "secret" $secret "key" (ternary $own.secretAccessKeyKey "S3_SECRET_ACCESS_KEY" (ne $own.name ""))) }}
{{- if and $own.name $own.sessionTokenKey }}
{{ include "matte.fromSecret" (dict "name" "S3_SESSION_TOKEN" "secret" $secret "key" $own.sessionTokenKey) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "matte.projectedIdentity" -}}
{{- if and (eq .Values.objectStore.credentials "ambient") .Values.objectStore.identity.roleArn }}true{{ end -}}
{{- end -}}

{{- define "matte.env.masterKeys" -}}
{{- $own := .Values.masterKeys.existingSecret -}}
{{- $file := .Values.masterKeys.file -}}
{{- if $file.enabled -}}
- { name: MASTER_KEYS_FILE, value: {{ printf "/etc/matte/master-keys/%s" (ternary $file.name "MASTER_KEYS" (ne (len $file.volume) 0)) | quote }} }
{{- else -}}
{{- include "matte.fromSecret" (dict "name" "MASTER_KEYS" "secret" ($own.name | default (include "matte.secretName" .)) "key" (ternary $own.key "MASTER_KEYS" (ne $own.name ""))) }}
{{- end -}}
{{- end -}}

{{- define "matte.env.operatorToken" -}}
{{- $own := .Values.operatorToken.existingSecret -}}
{{- if or $own.name .Values.setup.enabled }}
{{ include "matte.fromSecret" (dict "name" "OPERATOR_TOKEN" "secret" ($own.name | default (include "matte.secretName" .)) "key" (ternary $own.key "OPERATOR_TOKEN" (ne $own.name ""))) }}
{{- end }}
{{- end -}}

{{- define "matte.env.accounts" -}}
- { name: ACCOUNTS_ENABLED, value: {{ .Values.accounts.enabled | quote }} }
{{- end -}}

{{- define "matte.env.payments" -}}
{{- $payments := .Values.payments -}}
{{- with $payments.provider }}
- { name: PAYMENTS_PROVIDER, value: {{ . | quote }} }
{{- end }}
{{- if $payments.allowSandboxInProduction }}
- { name: PAYMENTS_ALLOW_SANDBOX_IN_PRODUCTION, value: "true" }
{{- end }}
{{- with $payments.stripe.existingSecret }}
{{- if .name }}
{{ include "matte.fromSecret" (dict "name" "STRIPE_SECRET_KEY" "secret" .name "key" .secretKeyKey) }}
{{ include "matte.fromSecret" (dict "name" "STRIPE_WEBHOOK_SECRET" "secret" .name "key" .webhookSecretKey) }}
{{- end }}
{{- end }}
{{- with $payments.packs }}
- { name: CREDIT_PACKS, value: {{ toJson . | quote }} }
{{- end }}
{{- with $payments.planPrices }}
- { name: PLAN_PRICES, value: {{ toJson . | quote }} }
{{- end }}
- { name: PAYMENTS_SELF_REFUND_DAYS, value: {{ $payments.selfRefundDays | quote }} }
{{- with $payments.seller }}
- { name: INVOICE_SELLER, value: {{ toJson . | quote }} }
{{- end }}
{{- end -}}

{{- define "matte.env.surfaces" }}
- { name: CONSOLE_ENABLED, value: {{ .Values.console.enabled | quote }} }
{{- with .Values.doors.removebg }}
- { name: DOORS_REMOVEBG, value: {{ .enabled | quote }} }
{{- with .models }}
- { name: DOORS_REMOVEBG_MODELS, value: {{ toJson . | quote }} }
{{- end }}
- { name: DOORS_REMOVEBG_UNKNOWN_FOREGROUND, value: {{ .unknownForeground | quote }} }
{{- end }}
{{- $service := include "matte.fullname" . }}
{{- $inNamespace := printf "%s.%s" $service .Release.Namespace }}
{{- $inCluster := list $service $inNamespace (printf "%s.svc" $inNamespace) (printf "%s.svc.cluster.local" $inNamespace) }}
{{- with .Values.doors.rembg }}
- { name: DOORS_REMBG, value: {{ .enabled | quote }} }
{{- if .enabled }}
- { name: DOORS_REMBG_NETWORKS, value: {{ join "," .networks | quote }} }
- { name: DOORS_REMBG_WORKSPACE, value: {{ .workspace | quote }} }
- { name: DOORS_REMBG_HOSTS, value: {{ concat $inCluster .hosts | join "," | quote }} }
{{- with .models }}
- { name: DOORS_REMBG_MODELS, value: {{ toJson . | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "matte.env.fetchUrls" -}}
{{- if .Values.uploads.fetchUrls }}
- { name: UPLOADS_FETCH_URLS, value: "true" }
{{- end }}
{{- end -}}

{{- define "matte.env.deniedNetworks" -}}
{{- with .Values.dispatcher.deniedNetworks }}
- { name: WEBHOOK_DENIED_NETWORKS, value: {{ join "," . | quote }} }
{{- end }}
{{- end -}}

{{- define "matte.env.egressAddresses" -}}
{{- with .Values.dispatcher.egressAddresses }}
- { name: WEBHOOK_EGRESS_ADDRESSES, value: {{ join "," . | quote }} }
{{- end }}
{{- end -}}

{{- define "matte.egressProxyEnabled" -}}
{{- if or .Values.dispatcher.egressProxy.url .Values.dispatcher.egressProxy.existingSecret.name }}true{{ end -}}
{{- end -}}

{{- define "matte.env.egressProxy" -}}
{{- $proxy := .Values.dispatcher.egressProxy -}}
{{- if $proxy.existingSecret.name }}
{{ include "matte.fromSecret" (dict "name" "WEBHOOK_EGRESS_PROXY" "secret" $proxy.existingSecret.name "key" $proxy.existingSecret.key) }}
{{- else if $proxy.url }}
- { name: WEBHOOK_EGRESS_PROXY, value: {{ $proxy.url | quote }} }
{{- end }}
{{- end -}}

{{- define "matte.mailEnabled" -}}
{{- if and .Values.accounts.enabled (or .Values.mail.url .Values.mail.existingSecret.name) }}true{{ end -}}
{{- end -}}

{{- define "matte.env.appUrl" -}}
{{- with .Values.accounts.appUrl }}
- { name: APP_URL, value: {{ . | quote }} }
{{- end }}
{{- end -}}

{{- define "matte.env.mail" -}}
{{- $own := .Values.mail.existingSecret -}}
{{- if include "matte.mailEnabled" . }}
{{- if $own.name }}
{{ include "matte.fromSecret" (dict "name" "SMTP_URL" "secret" $own.name "key" $own.key) }}
{{- else }}
- { name: SMTP_URL, value: {{ .Values.mail.url | quote }} }
{{- end }}
- { name: MAIL_FROM, value: {{ .Values.mail.from | quote }} }
- { name: SMTP_TLS, value: {{ .Values.mail.tls | quote }} }
{{- with .Values.mail.caFile }}
- { name: SMTP_CA_FILE, value: {{ . | quote }} }
{{- end }}
- { name: MAIL_CONCURRENCY, value: {{ .Values.mail.concurrency | quote }} }
- { name: MAIL_PER_MINUTE, value: {{ .Values.mail.perMinute | quote }} }
{{- end }}
{{- end -}}
