// A pool of fakes and the environment of its controllers. Does not import vitest, so benchmarks can load it.
import type { PoolSpecInput, TritonPool } from '@matte/controller/operator/pool/triton-pool'
import { buildPodTemplate } from '@matte/controller/operator/specs/pod-template'
import { fakeImage } from './images.ts'

/** Rolls out and drains in seconds. */
export const smallPool: PoolSpecInput = {
  default: true,
  image: fakeImage,
  imagePullPolicy: 'IfNotPresent',
  models: [
    {
      name: 'u2netp',
      modelVersion: 'u2netp',
      default: true,
      licence: 'Apache-2.0',
      source: { imagePath: '/models' },
    },
  ],
  resources: { requests: { cpu: '20m', memory: '64Mi' } },
  drain: { routeStopSeconds: 2, exitTimeoutSeconds: 5, graceSeconds: 13 },
}

/** A minimal kubeconfig: the user's may refer to programs and files. */
export const kubeEnv = (): Record<string, string> =>
  Object.fromEntries(
    ['KUBECONFIG', 'HOME', 'PATH'].flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )

/**
 * A pod patch that sets these variables in the pool's container. A merge patch replaces lists, so the containers are
 * repeated.
 */
export function withEnvironment(pool: TritonPool, variables: Readonly<Record<string, string>>) {
  const { containers } = buildPodTemplate(pool).spec as { containers: { env?: object[] }[] }
  const env = Object.entries(variables).map(([name, value]) => ({ name, value }))
  return { spec: { containers: containers.map((one) => ({ ...one, env: [...(one.env ?? []), ...env] })) } }
}
