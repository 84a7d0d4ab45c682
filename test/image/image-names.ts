// Names of the images that `make images` builds and the chart installs.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'

export const { version } = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as {
  readonly version: string
}
export const matteImage = `localhost/matte/matte:${version}`
export const tritonImage = `localhost/matte/triton:${version}`
