// Files of the load client's pod: `test/cluster/client`, and the images that it sends.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { greyPng, mislabelledPng, photo, truncatedPng } from '../../support/photos.ts'
import type { Release } from './release.ts'

const clientDir = join(import.meta.dirname, '../client')
const parts = ['client', 'images']

export const filesOfPod = {
  volumes: parts.map((name) => ({ name, configMap: { name: `load-${name}` } })),
  volumeMounts: parts.map((name) => ({ name, mountPath: `/${name}` })),
}

/** The program and its images, as ConfigMaps; `create` and not `apply`, see `Release.create`. */
export async function createFiles({ kubectl }: Release): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'matte-load-'))
  try {
    for (const [name, bytes] of Object.entries(await makeImages())) writeFileSync(join(dir, name), bytes)
    await kubectl('create', 'configmap', 'load-images', `--from-file=${dir}`)
    await kubectl('create', 'configmap', 'load-client', `--from-file=${clientDir}`)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Named as in `client/kinds.ts`. Together they must fit into a ConfigMap of 1 MiB. */
async function makeImages(): Promise<Record<string, Buffer>> {
  const rocket = (width: number, height: number) => sharp(photo('rocket.jpg')).resize(width, height, { fit: 'fill' })
  return {
    'small.png': await rocket(128, 96).png().toBuffer(),
    'megapixel.jpg': await rocket(1_200, 900).jpeg({ quality: 80 }).toBuffer(),
    'large.jpg': await rocket(4_000, 3_000).jpeg({ quality: 50 }).toBuffer(),
    'empty.png': greyPng(640, 480),
    'damaged.png': truncatedPng(),
    'foreign.png': mislabelledPng,
  }
}
