// The TritonPool (`matte.dev/v1alpha1`): as users write it, and with the API server's defaults.
import { Type } from 'typebox'
import { Default } from 'typebox/value'
import type { Resource } from '../kube/client.ts'
import type { KubeObject } from '../kube/objects.ts'
import { type PoolSpec, specSchema } from './pool-spec.ts'
import { type PoolStatus, statusSchema } from './pool-status.ts'
import type { PoolModel } from './spec/models.ts'

export const group = 'matte.dev'
export const version = 'v1alpha1'
export const kind = 'TritonPool'
export const plural = 'tritonpools'

export const tritonPoolSchema = Type.Object(
  { spec: specSchema, status: Type.Optional(statusSchema) },
  { description: 'A pool of Triton pods that remove the background of images, scaled by Matte to the demand.' },
)

/** A pool with all defaults. Its status may be absent or contain only a leader's term. */
export type TritonPool = KubeObject & { spec: PoolSpec; status?: Partial<PoolStatus> }

export const tritonPools: Resource<TritonPool> = { group, version, plural, kind }

type Sparse<T> = T extends readonly (infer Item)[]
  ? readonly Sparse<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Sparse<T[Key]> }
    : T

type SparseModel = Sparse<PoolModel> & Pick<PoolModel, 'name' | 'modelVersion' | 'source'>

export type PoolSpecInput = Omit<Sparse<PoolSpec>, 'models'> & { readonly models: readonly SparseModel[] }

/** Fills in every default of omitted fields and parents, like the API server. */
export const withDefaults = (spec: PoolSpecInput): PoolSpec => Default(specSchema, structuredClone(spec)) as PoolSpec
