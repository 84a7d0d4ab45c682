// `make sbom`: writes dist/sbom.json (CycloneDX) and dist/licences.txt from the built image. Exits with 1 on an
// unlisted licence.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { findImage, image } from './built-image.ts'
import { type Component, findUnlisted, licenceOf } from './licences.ts'

const built = findImage()
if (built === undefined) {
  process.stderr.write(`no docker, podman, buildah or cluster here has ${image}: run make images, or set MATTE_IMAGE\n`)
  process.exit(1)
}
const text = built.run('cat /app/sbom.json')
const { components } = JSON.parse(text) as { readonly components: readonly Component[] }
const lines = components.map((one) => `${one.name} ${one.version}\t${licenceOf(one)}\n`)
const dist = join(rootDir, 'dist')
mkdirSync(dist, { recursive: true })
writeFileSync(join(dist, 'sbom.json'), text)
writeFileSync(join(dist, 'licences.txt'), lines.join(''))
const unlisted = findUnlisted(components)
process.stdout.write(`${components.length} packages of ${image}, by ${built.by}: dist/sbom.json, dist/licences.txt\n`)
for (const line of unlisted) process.stderr.write(`not a listed licence: ${line}\n`)
process.exitCode = unlisted.length > 0 ? 1 : 0
