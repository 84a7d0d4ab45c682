{{- /* Names, labels and images that every object of the chart uses. */ -}}
{{- define "matte.fullname" -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- /* Of `publicUrl`; Ingress and Gateway serve it. */ -}}
{{- define "matte.host" -}}{{ (urlParse .Values.publicUrl).host | splitList ":" | first }}{{- end -}}

{{- /* What selects the pods of a component: dict "root" $ "component" "api". */ -}}
{{- define "matte.selector" -}}
app.kubernetes.io/name: matte
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /* Also `labels`, those of one object; the chart's own come first. */ -}}
{{- define "matte.labels" -}}
{{- $own := dict "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/managed-by" .root.Release.Service
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- merge (include "matte.selector" . | fromYaml) $own (.labels | default dict) .root.Values.commonLabels | toYaml -}}
{{- end -}}

{{- /* The metadata of an object: dict "root" $ "component" "api" "name" "matte-api" and, if any, "annotations", "labels" and another "namespace". */ -}}
{{- define "matte.metadata" -}}
name: {{ .name }}
namespace: {{ .namespace | default .root.Release.Namespace | quote }}
labels:
  {{- include "matte.labels" . | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* An image behind `image.registry`: dict "root" $ "image" "docker.io/library/nats:2". */ -}}
{{- define "matte.imageName" -}}
{{- $registry := .root.Values.image.registry | trimSuffix "/" -}}
{{- $parts := splitList "/" .image -}}
{{- /* Only what looks like a host is one, as in container runtimes. */ -}}
{{- $path := ternary (rest $parts) $parts (and (gt (len $parts) 1) (regexMatch "[.:]|^localhost$" (first $parts))) -}}
{{- if $registry -}}{{ $registry }}/{{ join "/" $path }}
{{- else -}}{{ .image }}
{{- end -}}
{{- end -}}

{{- define "matte.image" -}}
{{- $image := .Values.image -}}
{{- $end := ternary (printf "@%s" $image.digest) (printf ":%s" ($image.tag | default .Chart.AppVersion)) (ne $image.digest "") -}}
{{- include "matte.imageName" (dict "root" . "image" (printf "%s%s" $image.repository $end)) -}}
{{- end -}}

{{- /* The Secret that the setup Job makes. */ -}}
{{- define "matte.secretName" -}}{{ include "matte.fullname" . }}-secrets{{- end -}}

{{- /* ConfigMap with the pools of the values; also the value of matte.dev/from on those pools. */ -}}
{{- define "matte.poolsName" -}}{{ include "matte.fullname" . }}-pools{{- end -}}

{{- /* Lease of the operator. The release of the unlabelled pools keeps the name that charts up to 0.2 used. */ -}}
{{- define "matte.leaseName" -}}
{{- if .Values.operator.unlabelledPools -}}matte-controller{{- else -}}{{ include "matte.fullname" . }}-operator{{- end -}}
{{- end -}}

{{- /* Value of matte.dev/release on the pods of pools; empty: they have no such label. */ -}}
{{- define "matte.podRelease" -}}
{{- if not .Values.operator.unlabelledPools -}}{{ include "matte.fullname" . }}{{- end -}}
{{- end -}}

{{- /* Label selector of the pods of this release's pools. */ -}}
{{- define "matte.poolPods" -}}
matchExpressions:
  - { key: matte.dev/pool, operator: Exists }
  {{- if .Values.operator.unlabelledPools }}
  - { key: matte.dev/release, operator: DoesNotExist }
  {{- else }}
  - { key: matte.dev/release, operator: In, values: [{{ include "matte.fullname" . }}] }
  {{- end }}
{{- end -}}

{{- /*
Name of a component's service account, or `default`: dict "root" $ "component" "api" "values" .Values.api
*/ -}}
{{- define "matte.serviceAccountName" -}}
{{- $account := .values.serviceAccount -}}
{{- $account.name | default (ternary (printf "%s-%s" (include "matte.fullname" .root) .component) "default" $account.create) -}}
{{- end -}}

{{- /* The service account that the values let the chart create: as above. */ -}}
{{- define "matte.serviceAccount" -}}
{{- if .values.serviceAccount.create }}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "matte.metadata" (dict "root" .root "component" .component "name" (include "matte.serviceAccountName" .) "annotations" .values.serviceAccount.annotations) | nindent 2 }}
automountServiceAccountToken: false
---
{{- end }}
{{- end -}}

{{- /* A service account with these rules in the release's namespace: dict "root" $ "component" "worker" "values" .Values.controller "rules" the text. */ -}}
{{- define "matte.rights" -}}
{{- $name := printf "%s-%s" (include "matte.fullname" .root) .component -}}
{{- $metadata := dict "root" .root "component" .component "name" $name -}}
{{- include "matte.serviceAccount" . }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  {{- include "matte.metadata" $metadata | nindent 2 }}
{{ .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  {{- include "matte.metadata" $metadata | nindent 2 }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ $name }} }
subjects:
  - { kind: ServiceAccount, name: {{ include "matte.serviceAccountName" . }}, namespace: {{ .root.Release.Namespace }} }
{{- end -}}
