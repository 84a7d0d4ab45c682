// Names of the images that `make images` builds and the chart installs.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'

export const { version } = JSON.parse(readFileSync(join(rootDir, 'package.json'), 'utf8')) as {
  readonly version: string
}
export const matteImage = `docker.io/matte/matte:${version}`
export const tritonImage = `docker.io/matte/triton:${version}`
