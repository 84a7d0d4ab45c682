import type { Service } from '@matte/core/runtime/service'
import type { PodPicker } from './routing/pod-picker.ts'
import type { PodSource } from './routing/pod-source.ts'

/** Where the pods come from, and who sees to them: the two ways are static-mode.ts and kubernetes-mode.ts. */
export type Serving = {
  readonly source: PodSource
  /** What every replica runs, the source included, in the order of their start. */
  readonly services: readonly Service[]
  /** What only the replica that leads does anything in; started last. */
  leading(picker: PodPicker): readonly Service[]
}
