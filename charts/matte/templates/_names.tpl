{{- /* Names, labels and images of the chart's objects. */ -}}
{{- define "matte.fullname" -}}
{{- if .Values.fullnameOverride -}}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- /* Host of `publicUrl`, for Ingress and Gateway. */ -}}
{{- define "matte.host" -}}{{ (urlParse .Values.publicUrl).host | splitList ":" | first }}{{- end -}}

{{- /* Selector labels of a component's pods: dict "root" $ "component" "api". */ -}}
{{- define "matte.selector" -}}
app.kubernetes.io/name: matte
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /* Labels of an object; optional "labels" adds more. The chart's own labels take precedence. */ -}}
{{- define "matte.labels" -}}
{{- $own := dict "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/managed-by" .root.Release.Service
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version) -}}
{{- merge (include "matte.selector" . | fromYaml) $own (.labels | default dict) .root.Values.commonLabels | toYaml -}}
{{- end -}}

{{- /* Metadata of an object: dict "root" $ "component" "api" "name" "matte-api", optional "annotations", "labels", "namespace". */ -}}
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

{{- /* Image name with `image.registry` applied: dict "root" $ "image" "docker.io/library/nats:2". */ -}}
{{- define "matte.imageName" -}}
{{- $registry := .root.Values.image.registry | trimSuffix "/" -}}
{{- $parts := splitList "/" .image -}}
{{- /* The first part is a registry only if it looks like a host, as in container runtimes. */ -}}
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

{{- /* Secret that the setup Job creates. */ -}}
{{- define "matte.secretName" -}}{{ include "matte.fullname" . }}-secrets{{- end -}}

{{- /* ConfigMap with the pools of the values; also the label value matte.dev/from of these pools. */ -}}
{{- define "matte.poolsName" -}}{{ include "matte.fullname" . }}-pools{{- end -}}

{{- /* Lease of the operator. The release of the unlabelled pools uses the name of charts up to 0.2. */ -}}
{{- define "matte.leaseName" -}}
{{- if .Values.operator.unlabelledPools -}}matte-controller{{- else -}}{{ include "matte.fullname" . }}-operator{{- end -}}
{{- end -}}

{{- /* Label value matte.dev/release of pool pods; empty: no such label. */ -}}
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

{{- /* Service account of a component, if the values create it: arguments as above. */ -}}
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

{{- /* Service account with a Role in the release's namespace: dict "root" $ "component" "worker" "values" .Values.controller "rules" text. */ -}}
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
  - { kind: ServiceAccount, name: {{ include "matte.serviceAccountName" . }}, namespace: {{ .root.Release.Namespace | quote }} }
{{- end -}}
