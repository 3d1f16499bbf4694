{{/* Prefix of the names of all objects: "elasticgpu" for a release of that name. */}}
{{- define "elasticgpu.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels of everything in the release. */}}
{{- define "elasticgpu.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Labels by which a workload finds its pods; called with (dict "root" $ "component" "agent"). */}}
{{- define "elasticgpu.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "elasticgpu.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{/* Environment that leads the client library to another address of the API server. */}}
{{- define "elasticgpu.serviceEnv" -}}
{{- with .Values.kubernetesServiceHost }}
- name: KUBERNETES_SERVICE_HOST
  value: {{ . | quote }}
{{- end }}
{{- with .Values.kubernetesServicePort }}
- name: KUBERNETES_SERVICE_PORT
  value: {{ . | toString | quote }}
{{- end }}
{{- end -}}

{{/* Both probes; called with the port's name. */}}
{{- define "elasticgpu.probes" -}}
livenessProbe:
  httpGet:
    path: /livez
    port: health
  initialDelaySeconds: 10
  periodSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /readyz
    port: health
  periodSeconds: 5
{{- end -}}

{{/* CEL: whether `key` is the key of one of our annotations on pods. */}}
{{- define "elasticgpu.isOurs" -}}
(key.startsWith('elasticgpu.io/egpuc-') || key.startsWith('elasticgpu.io/egpuct-') || key.startsWith('egpuc.elasticgpu.io/'))
{{- end -}}

{{/*
CEL variables that say what a pod's annotations ask for. The policy that puts claims into pods and
the one that checks the result share them, so the two cannot disagree.
*/}}
{{- define "elasticgpu.podVariables" -}}
# The three forms of annotation, and the prefix of the ResourceClaimTemplates each leads to.
- name: forms
  expression: >-
    {'elasticgpu.io/egpuc-': 'egpuc-',
     'egpuc.elasticgpu.io/': 'egpuc-',
     'elasticgpu.io/egpuct-': 'egpuct-'}
- name: annotations
  expression: object.metadata.?annotations.orValue({})
- name: initContainers
  expression: object.spec.?initContainers.orValue([])
- name: names
  expression: >-
    (variables.initContainers.map(c, c.name) + object.spec.containers.map(c, c.name)).distinct()
# Per container, the ResourceClaimTemplates it asks for. Misspelt names are left to the refusals.
- name: templates
  expression: >-
    variables.names.transformMapEntry(i, container, {container:
      variables.forms.transformList(form, made,
        variables.annotations[?(form + container)].orValue('').split(',')
          .map(name, name.trim())
          .filter(name, name.size() <= 240 && !format.dns1123Subdomain().validate(name).hasValue())
          .map(name, made + name)
      ).flatten().distinct().sort()
    })
# All of them, in one order whatever the order of the annotations.
- name: wanted
  expression: >-
    variables.names.map(container, variables.templates[container]).flatten().distinct().sort()
- name: present
  expression: object.spec.?resourceClaims.orValue([])
- name: missing
  expression: >-
    variables.wanted.filter(t,
      !variables.present.exists(p, p.?resourceClaimTemplateName.orValue('') == t))
{{- end -}}
