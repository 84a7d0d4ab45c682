{{- /* Fields shared by all pods. They meet Pod Security's restricted profile. */ -}}
{{- define "matte.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- /* dict "root" $ "uid" 10001 */ -}}
{{- define "matte.podSecurity" -}}
runAsNonRoot: true
seccompProfile: { type: RuntimeDefault }
{{- if .root.Values.setUserIds }}
runAsUser: {{ .uid }}
runAsGroup: {{ .uid }}
fsGroup: {{ .uid }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}
{{- end -}}

{{- define "matte.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . | quote }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Labels and annotations of pods: dict "root" $ "component" "api" "pod" .Values.api.pod, optional "annotations" map. */ -}}
{{- define "matte.podMetadata" -}}
labels:
  {{- /* Without the chart's version, so an upgrade restarts only changed pods. */}}
  {{- merge (include "matte.selector" . | fromYaml) (.pod.labels | default dict) .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (dict) .pod.annotations (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Additional environment of a container, from `pod`. */ -}}
{{- define "matte.extraEnvFrom" -}}
{{- with .extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /*
Files of Secrets and ConfigMaps that a process reads: dict "root" $, "nats" true for a process that uses NATS, "masterKeys" true for
one that uses the master keys.
*/ -}}
{{- define "matte.fileMounts" -}}
{{- with .root.Values.trustedAuthorities }}
{{- if or .configMap .secret }}
- { name: authorities, mountPath: /etc/matte/authorities, readOnly: true }
{{- end }}
{{- end }}
{{- if and .nats .root.Values.nats.credsSecret.name }}
- { name: nats-creds, mountPath: /etc/matte/nats-creds, readOnly: true }
{{- end }}
{{- if and .nats .root.Values.nats.certificateSecret.name }}
- { name: nats-certificate, mountPath: /etc/matte/nats-certificate, readOnly: true }
{{- end }}
{{- if and .masterKeys .root.Values.masterKeys.file.enabled }}
- { name: master-keys, mountPath: /etc/matte/master-keys, readOnly: true }
{{- end }}
{{- end -}}

{{- define "matte.fileVolumes" -}}
{{- with .root.Values.trustedAuthorities }}
{{- if .configMap }}
- name: authorities
  configMap: { name: {{ .configMap | quote }}, items: [{ key: {{ .key | quote }}, path: ca.crt }] }
{{- else if .secret }}
- name: authorities
  secret: { secretName: {{ .secret | quote }}, items: [{ key: {{ .key | quote }}, path: ca.crt }] }
{{- end }}
{{- end }}
{{- if .nats }}
{{- with .root.Values.nats.credsSecret }}
{{- if .name }}
- name: nats-creds
  secret: { secretName: {{ .name | quote }}, items: [{ key: {{ .key | quote }}, path: user.creds }] }
{{- end }}
{{- end }}
{{- with .root.Values.nats.certificateSecret }}
{{- if .name }}
- name: nats-certificate
  secret:
    secretName: {{ .name | quote }}
    items: [{ key: {{ .certKey | quote }}, path: tls.crt }, { key: {{ .keyKey | quote }}, path: tls.key }]
{{- end }}
{{- end }}
{{- end }}
{{- if and .masterKeys .root.Values.masterKeys.file.enabled }}
{{- $own := .root.Values.masterKeys.existingSecret }}
- name: master-keys
{{- if .root.Values.masterKeys.file.volume }}
  {{- toYaml .root.Values.masterKeys.file.volume | nindent 2 }}
{{- else }}
  secret:
    secretName: {{ $own.name | default (include "matte.secretName" .root) | quote }}
    items: [{ key: {{ ternary $own.key "MASTER_KEYS" (ne $own.name "") | quote }}, path: MASTER_KEYS }]
{{- end }}
{{- end }}
{{- end -}}

{{- /* Scheduling of pods: dict "root" $ "component" "api" "pod" .Values.api.pod */ -}}
{{- define "matte.scheduling" -}}
{{- with .pod.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pod.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  {{- if .pod.topologySpreadConstraints }}
  {{- toYaml .pod.topologySpreadConstraints | nindent 2 }}
  {{- else }}
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "matte.selector" $ | nindent 8 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{- /*
Resources of a process: dict "root" $ "values" .Values.api "memory" "256Mi" (the request outside production). A pod whose request
equals its limit is not evicted under memory pressure.
*/ -}}
{{- define "matte.resources" -}}
{{- $resources := deepCopy .values.resources -}}
{{- $limit := dig "limits" "memory" "" $resources -}}
{{- $memory := dig "requests" "memory" "" $resources | default (ternary $limit "" (eq .root.Values.mode "production")) | default .memory -}}
{{- mergeOverwrite $resources (dict "requests" (dict "memory" $memory)) | toYaml -}}
{{- end -}}

{{- /* Replicas of a Deployment, or nil with an autoscaler. Argument: the component's values. */ -}}
{{- define "matte.replicas" -}}
{{- $scaling := .autoscaling | default dict -}}
{{- if not (or $scaling.enabled $scaling.external) }}{{ .replicas }}{{ end -}}
{{- end -}}

{{- /* Minimum replicas of a Deployment. Argument: the component's values. */ -}}
{{- define "matte.fewestReplicas" -}}
{{- include "matte.replicas" . | default .autoscaling.minReplicas -}}
{{- end -}}

{{- /*
A Deployment of the image: dict "root" $ "component" "api" "values" .Values.api "memory" the request outside production, "env" the
variables as text, "ports" a map of port names, "healthPort" 8081, "automount" whether to mount the API server's token, optional
"store" true for a component that uses the object store, "masterKeys" true for one that uses the master keys.
*/ -}}
{{- define "matte.deployment" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $pod := .values.pod -}}
{{- $files := dict "root" $root "nats" true "masterKeys" .masterKeys -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "matte.metadata" (merge (dict "name" (printf "%s-%s" (include "matte.fullname" $root) .component)) .) | nindent 2 }}
spec:
  {{- if $root.Values.stopped }}
  # A HorizontalPodAutoscaler ignores a Deployment with zero replicas.
  replicas: 0
  {{- else if include "matte.replicas" .values }}
  replicas: {{ include "matte.replicas" .values }}
  {{- else }}
  {{- /* Keeps the current number: if Helm removed the field, the API server would reset it to 1. */}}
  {{- $name := printf "%s-%s" (include "matte.fullname" $root) .component }}
  {{- with lookup "apps/v1" "Deployment" $root.Release.Namespace $name }}
  # The current number; the autoscaler takes over from here.
  {{- /* An external scaler has its own bounds. After `stopped` the number is zero, which many scalers never leave. */}}
  {{- $fewest := ternary 1 $values.autoscaling.minReplicas (and $values.autoscaling.external (gt (int .spec.replicas) 0)) }}
  replicas: {{ max (int .spec.replicas) (int $fewest) }}
  {{- end }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "matte.selector" . | nindent 6 }}
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  template:
    metadata:
      {{- include "matte.podMetadata" (dict "root" $root "component" .component "pod" $pod) | nindent 6 }}
    spec:
      {{- include "matte.pullSecrets" $root | nindent 6 }}
      serviceAccountName: {{ include "matte.serviceAccountName" . }}
      automountServiceAccountToken: {{ .automount }}
      enableServiceLinks: false
      # Processes take up to 30 s to finish work in flight; the API waits 5 s first while endpoints drop it.
      terminationGracePeriodSeconds: 40
      securityContext:
        {{- include "matte.podSecurity" (dict "root" $root "uid" 10001) | nindent 8 }}
      {{- include "matte.scheduling" (dict "root" $root "component" .component "pod" $pod) | nindent 6 }}
      containers:
        - name: {{ .component }}
          image: {{ include "matte.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [{{ .component }}]
          env:
            {{- .env | nindent 12 }}
            {{- with $pod.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- include "matte.extraEnvFrom" $pod | nindent 10 }}
          ports:
            {{- range $name, $port := .ports }}
            - { name: {{ $name }}, containerPort: {{ $port }} }
            {{- end }}
          startupProbe:
            httpGet: { path: /healthz, port: {{ .healthPort }} }
            periodSeconds: 1
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /healthz, port: {{ .healthPort }} }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: {{ .healthPort }} }
            periodSeconds: 1
            timeoutSeconds: 3
            failureThreshold: 5
          resources:
            {{- include "matte.resources" . | nindent 12 }}
          securityContext:
            {{- include "matte.containerSecurity" . | nindent 12 }}
          volumeMounts:
            - { name: tmp, mountPath: /tmp }
            {{- with include "matte.fileMounts" $files | trim }}
            {{- . | nindent 12 }}
            {{- end }}
            {{- if and .store (include "matte.projectedIdentity" $root) }}
            - { name: store-identity, mountPath: /var/run/secrets/matte.dev/store, readOnly: true }
            {{- end }}
            {{- with $pod.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- with $pod.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
        - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
        {{- with include "matte.fileVolumes" $files | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- if and .store (include "matte.projectedIdentity" $root) }}
        - name: store-identity
          projected:
            sources:
              - serviceAccountToken: { audience: {{ $root.Values.objectStore.identity.audience | quote }}, expirationSeconds: 3600, path: token }
        {{- end }}
        {{- with $pod.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}
