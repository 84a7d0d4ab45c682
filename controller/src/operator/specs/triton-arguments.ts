import { readFileSync } from 'node:fs'
import { keepaliveFlags } from '../../worker/triton/keepalive.ts'
import { adminKey } from '../../worker/triton/repository-index.ts'
import type { PoolSpec } from '../pool/pool-spec.ts'
import type { ModelSource, PoolModel } from '../pool/spec/models.ts'

export const ports = { http: 8000, grpc: 8001, metrics: 8002 } as const

/** All addresses of both families; Triton's default is IPv4. HTTP and gRPC have different syntax. */
const ipv6Flags = ['--http-address=ipv6:::', '--grpc-address=[::]', '--metrics-address=ipv6:::']

export const claimMountPath = (index: number): string => `/mnt/models-${index}`

export const claimsOf = ({ models }: PoolSpec): string[] => [
  ...new Set(models.flatMap(({ source }) => source.persistentVolumeClaim?.claimName ?? [])),
]

export function repositoryOf(source: ModelSource, claims: readonly string[]): string {
  if (source.imagePath !== undefined) return source.imagePath
  if (source.s3 !== undefined) return source.s3.prefix
  const { claimName = '', path = '' } = source.persistentVolumeClaim ?? {}
  return [claimMountPath(claims.indexOf(claimName)), path].filter((part) => part !== '').join('/')
}

/** A claim of dynamic resource allocation counts as a GPU. */
const hasGpu = ({ resources, podPatch }: PoolSpec): boolean =>
  (resources.claims ?? []).length > 0 ||
  hasClaims(podPatch) ||
  Object.entries({ ...resources.requests, ...resources.limits }).some(
    // A slice of a GPU is called `nvidia.com/mig-1g.5gb`.
    ([name, amount]) => /^nvidia\.com\/|(^|[./-])gpu([./-]|$)/.test(name) && Number(amount) !== 0,
  )

function hasClaims(podPatch: PoolSpec['podPatch']): boolean {
  const { spec } = (podPatch ?? {}) as { readonly spec?: { readonly resourceClaims?: unknown } | null }
  const claims = spec?.resourceClaims
  return Array.isArray(claims) && claims.length > 0
}

/** Name of the file in a model's `configs/`; Triton falls back to `config.pbtxt`. */
export const configName = (spec: PoolSpec): 'gpu' | 'cpu' => (hasGpu(spec) ? 'gpu' : 'cpu')

type Container = { readonly uid: string; readonly ipv6: boolean }

function tritonArguments(spec: PoolSpec, { uid, ipv6 }: Container, toPath: (repository: string) => string): string[] {
  const claims = claimsOf(spec)
  const repositories = [...new Set(spec.models.map(({ source }) => toPath(repositoryOf(source, claims))))]
  const closed = `shared-memory,model-repository,trace,logging:${adminKey}=${uid}`
  return [
    'tritonserver',
    ...repositories.map((path) => `--model-repository=${path}`),
    '--model-control-mode=explicit',
    ...spec.models.map(({ name }) => `--load-model=${name}`),
    `--model-config-name=${configName(spec)}`,
    ...(spec.autoCompleteConfig === false ? ['--disable-auto-complete-config'] : []),
    // A model that does not load becomes a condition instead of a crash loop.
    '--exit-on-error=false',
    '--strict-readiness=true',
    `--exit-timeout-secs=${spec.drain.exitTimeoutSeconds}`,
    `--http-port=${ports.http}`,
    `--grpc-port=${ports.grpc}`,
    `--metrics-port=${ports.metrics}`,
    ...(ipv6 ? ipv6Flags : []),
    ...keepaliveFlags,
    `--grpc-restricted-protocol=${closed}`,
    `--http-restricted-api=${closed}`,
    ...(hasGpu(spec) ? [] : ['--allow-gpu-metrics=false']),
  ]
}

function coresAllowed({ limits }: PoolSpec['resources']): number | undefined {
  const cpu = limits?.cpu
  if (cpu === undefined) return undefined
  const text = String(cpu)
  const cores = text.endsWith('m') ? Number(text.slice(0, -1)) / 1000 : Number(text)
  return Number.isFinite(cores) ? Math.floor(cores) : undefined
}

/** Whether the configuration may depend on the processor. A checksum fixes one file for every node. */
const configChoice = ({ checksum }: PoolModel): 'any' | 'cpu' => (checksum === undefined ? 'any' : 'cpu')

/** Arguments of the container. The image's entry point stays, because it prepares the driver's libraries. */
export function containerArguments(spec: PoolSpec, container: Container): string[] {
  const claims = claimsOf(spec)
  // A model in S3 has no local copy.
  const local = spec.models.filter(({ source }) => source.s3 === undefined)
  if (hasGpu(spec) || local.length === 0) return tritonArguments(spec, container, (path) => path)
  const prepared = local.flatMap((model) => [repositoryOf(model.source, claims), model.name, configChoice(model)])
  const toCopy = (path: string): string => (path.startsWith('s3://') ? path : `/tmp/models${path}`)
  const script = ['sh', '-c', readScript('prepare-models.sh'), 'sh', '/proc/cpuinfo']
  // The original configuration suits one core.
  const cores = coresAllowed(spec.resources) ?? 1
  const count = cores < 2 ? '' : String(cores)
  return [...script, count, ...prepared, '--', ...tritonArguments(spec, container, toCopy)]
}

/** Cached, because a template is built for every pool once a second. */
const scripts = new Map<string, string>()

export function readScript(name: string): string {
  const script = scripts.get(name) ?? readFileSync(new URL(name, import.meta.url), 'utf8').replace(/^(#.*\n)+/, '')
  scripts.set(name, script)
  return script
}
