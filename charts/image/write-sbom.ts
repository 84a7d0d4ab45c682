// Runs during the image build: writes /app/sbom.json (CycloneDX 1.6) with Matte's programs, the npm packages in their
// bundles, Node and Debian's packages. Debian publishes licences as free text (/usr/share/doc/*/copyright), so
// debian-licences.json lists them by source package; others get NOASSERTION, which `make sbom` rejects.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

type Package = { readonly name: string; readonly version: string; readonly licence?: string | undefined }

const read = <T>(file: string): T => JSON.parse(readFileSync(file, 'utf8')) as T
const unknown = 'NOASSERTION'

const component = (scope: 'npm' | 'deb' | 'generic', { name, version, licence = unknown }: Package) => {
  const owner = { npm: '', deb: 'debian/', generic: '' }[scope]
  const purl = `pkg:${scope}/${owner}${name.replace('@', '%40')}@${encodeURIComponent(version)}`
  return { type: 'library', 'bom-ref': purl, name, version, licenses: [{ expression: licence }], purl }
}

const debianLicences = read<Readonly<Record<string, string>>>(join(import.meta.dirname, 'debian-licences.json'))
// `source:Package` equals the name if the package is its own source.
const fields = ['Package', 'Version', 'source:Package'].map((name) => `\${${name}}`).join('\t')
const debian = execFileSync('dpkg-query', ['-W', '-f', `${fields}\n`], { encoding: 'utf8' })
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [name = '', version = '', source = ''] = line.split('\t')
    return component('deb', { name, version, licence: debianLicences[source] })
  })

const node = component('generic', { name: 'node', version: process.versions.node, licence: 'MIT' })
const npm = read<readonly Package[]>('/app/packages.json').map((one) => component('npm', one))
const { version } = read<Package>('/app/package.json')
const matte = { type: 'application', name: 'matte', version, licenses: [{ expression: 'Apache-2.0' }] }
const sbom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { component: matte },
  components: [...npm, node, ...debian],
}
writeFileSync('/app/sbom.json', `${JSON.stringify(sbom, null, 2)}\n`)
