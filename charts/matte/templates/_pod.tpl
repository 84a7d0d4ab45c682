{{- /* What all pods have in common; restricted, as Pod Security means it. */ -}}
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

{{- /* Labels and annotations of pods: dict "root" $ "component" "api" "pod" .Values.api.pod and, if any, "annotations" a map. */ -}}
{{- define "matte.podMetadata" -}}
labels:
  {{- /* Without the chart's version, so that an upgrade restarts only what it changes. */}}
  {{- merge (include "matte.selector" . | fromYaml) (.pod.labels | default dict) .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (dict) .pod.annotations (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Variables of a container besides its own: what `pod` has. */ -}}
{{- define "matte.extraEnvFrom" -}}
{{- with .extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Where pods run: dict "root" $ "component" "api" "pod" .Values.api.pod */ -}}
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
Resources of a process: dict "root" $ "values" .Values.api "memory" "256Mi", the request outside of production. A pod whose request
equals its limit is not evicted for memory that it was promised.
*/ -}}
{{- define "matte.resources" -}}
{{- $resources := deepCopy .values.resources -}}
{{- $limit := dig "limits" "memory" "" $resources -}}
{{- $memory := dig "requests" "memory" "" $resources | default (ternary $limit "" (eq .root.Values.mode "production")) | default .memory -}}
{{- mergeOverwrite $resources (dict "requests" (dict "memory" $memory)) | toYaml -}}
{{- end -}}

{{- /* Pods of a Deployment; nil if an autoscaler decides: the component's values. */ -}}
{{- define "matte.replicas" -}}
{{- $scaling := .autoscaling | default dict -}}
{{- if not (or $scaling.enabled $scaling.external) }}{{ .replicas }}{{ end -}}
{{- end -}}

{{- /* Fewest pods of a Deployment: the component's values. */ -}}
{{- define "matte.fewestReplicas" -}}
{{- include "matte.replicas" . | default .autoscaling.minReplicas -}}
{{- end -}}

{{- /*
A Deployment of the image: dict "root" $ "component" "api" "values" .Values.api with its replicas or autoscaler, "memory" its request
outside of production, "env" the variables as text, "ports" a map of port names, "healthPort" 8081, "automount" the token of the API
server, and for a component that uses the object store "store" true.
*/ -}}
{{- define "matte.deployment" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $pod := .values.pod -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "matte.metadata" (merge (dict "name" (printf "%s-%s" (include "matte.fullname" $root) .component)) .) | nindent 2 }}
spec:
  {{- if $root.Values.stopped }}
  # Zero also stops an autoscaler from making more.
  replicas: 0
  {{- else if include "matte.replicas" .values }}
  replicas: {{ include "matte.replicas" .values }}
  {{- else }}
  {{- /* Without the field the API server would put 1 where Helm had written a number before. */}}
  {{- $name := printf "%s-%s" (include "matte.fullname" $root) .component }}
  {{- with lookup "apps/v1" "Deployment" $root.Release.Namespace $name }}
  # As many as there are, for the autoscaler to go on from.
  {{- /* The bounds of an external scaler are its own. Zero is also what `stopped` leaves, and many scalers never leave zero. */}}
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
      # The processes take up to 30 s to end what they have begun, the API with five in which traffic goes elsewhere.
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
