import { buildCrd } from '@matte/controller/operator/pool/crd'
import { toYaml } from './yaml.ts'

const head =
  '# Written by `make gen` from controller/src/operator/pool. The resource is explained in docs/tritonpool.md.\n'

export const writeCrd = (): string => head + toYaml(buildCrd())

/** For installations with `podPatch: any` (docs/operator.md). */
export const writeCrdOfAnyPodPatch = (): string => head + toYaml(buildCrd('any'))
