import type { Cutout } from '../cutout.ts'
import type { MatteError } from '../error.ts'

/** `resumed`: the task was created by an earlier run. */
export type ManyResult =
  | { readonly key: string; readonly cutout: Cutout; readonly resumed: boolean; readonly error?: undefined }
  | { readonly key: string; readonly error: MatteError; readonly cutout?: undefined }
