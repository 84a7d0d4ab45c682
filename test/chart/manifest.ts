// Types of the rendered manifests, limited to the fields that tests read.

type Container = {
  readonly name: string
  readonly image: string
  readonly env?: readonly {
    readonly name: string
    readonly value?: string
    readonly valueFrom?: { readonly secretKeyRef?: { readonly name: string } }
  }[]
  readonly securityContext?: object
  readonly resources?: object
  readonly volumeMounts?: readonly object[]
}

export type PodSpec = {
  readonly containers: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly securityContext?: object
  readonly automountServiceAccountToken?: boolean
  readonly volumes?: readonly object[]
}

type Metadata = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export type Manifest = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: Partial<PodSpec> & {
    readonly template?: { readonly metadata: Metadata; readonly spec: PodSpec }
    readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> }
    readonly policyTypes?: readonly string[]
    readonly replicas?: number
  }
}
