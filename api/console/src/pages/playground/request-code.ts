// The request of the playground as programs.
import { type Effects, type OutputValue, toOutput } from './effects.ts'

type Request = {
  readonly baseUrl: string
  readonly fileName: string
  readonly contentType: string
  readonly effects: Effects
}

export const languages = ['cli', 'typescript', 'python', 'curl'] as const
export type Language = (typeof languages)[number]

/** Programs read the key from MATTE_API_KEY, so no key is copied with them. */
export function writeCode(language: Language, request: Request): string {
  const write = { cli: writeCli, typescript: writeTypeScript, python: writePython, curl: writeCurl }[language]
  return write(request)
}

const resultName = ({ fileName, effects }: Request): string =>
  `${fileName.replace(/\.\w+$/, '')}-cutout.${effects.format === 'jpeg' ? 'jpg' : effects.format}`

/** A shell's word, quoted where it needs to be. */
const shell = (text: string): string => (/^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

const kebab = (name: string): string => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
const snake = (name: string): string => kebab(name).replaceAll('-', '_')

function writeCli(request: Request): string {
  const options = Object.entries(toOutput(request.effects)).map(([name, value]) =>
    value === true ? ` --${kebab(name)}` : ` --${kebab(name)} ${shell(String(nameOf(value)))}`,
  )
  return [
    `export MATTE_BASE_URL=${shell(request.baseUrl)}   # and MATTE_API_KEY`,
    `npx matte-cli cut ${shell(request.fileName)}${options.join('')}`,
  ].join('\n')
}

/** The command line names the kind of a shadow alone. */
const nameOf = (value: OutputValue): string | number | boolean => (typeof value === 'object' ? value.kind : value)

function writeTypeScript(request: Request): string {
  const output = Object.entries(toOutput(request.effects))
  const options = output.map(([name, value]) => `${name}: ${inTypeScript(value)}`)
  const given = options.length === 0 ? '' : `, { ${options.join(', ')} }`
  return [
    `import { Matte } from 'matte-client'`,
    '',
    `const matte = new Matte({ baseUrl: ${quote(request.baseUrl)} })   // key: MATTE_API_KEY`,
    `const cutout = await matte.removeBackground(${quote(request.fileName)}${given})`,
    `await cutout.save(${quote(resultName(request))})`,
  ].join('\n')
}

function inTypeScript(value: OutputValue): string {
  if (typeof value === 'object') return `{ kind: ${quote(value.kind)} }`
  return typeof value === 'string' ? quote(value) : String(value)
}

const quote = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`

function writePython(request: Request): string {
  const options = Object.entries(toOutput(request.effects)).map(([name, value]) => {
    const text = value === true ? 'True' : JSON.stringify(value)
    return `, ${snake(name)}=${text}`
  })
  return [
    'from matte import Matte',
    '',
    `with Matte(base_url=${JSON.stringify(request.baseUrl)}) as matte:   # key: MATTE_API_KEY`,
    `    cutout = matte.remove_background(${JSON.stringify(request.fileName)}${options.join('')})`,
    `    cutout.save(${JSON.stringify(resultName(request))})`,
  ].join('\n')
}

/** Three calls: a grant, the upload, and the task, whose answer waits for the result. */
function writeCurl(request: Request): string {
  const { baseUrl, fileName, contentType } = request
  const output = toOutput(request.effects)
  const json = (body: object): string => shell(JSON.stringify(body))
  const given = Object.keys(output).length === 0 ? '' : `, output: ${JSON.stringify(output)}`
  return [
    `base=${shell(`${baseUrl}/open/developer`)}`,
    'auth="X-API-Key: $MATTE_API_KEY"; json="Content-Type: application/json"',
    '',
    `grant=$(curl -sS "$base/uploads/presign" -H "$auth" -H "$json" -d ${json({ fileName, contentType })})`,
    `curl -sS -X PUT "$(jq -r .data.uploadUrl <<<"$grant")" -H ${shell(`Content-Type: ${contentType}`)} --data-binary @${shell(fileName)}`,
    `task=$(jq '{imageUrl: .data.objectKey${given.replaceAll("'", '')}}' <<<"$grant" |`,
    '  curl -sS "$base/tasks" -H "$auth" -H "$json" -H "Prefer: wait=20" -d @-)',
    `curl -sS "$(jq -r .data.resultUrl <<<"$task")" -o ${shell(resultName(request))}`,
  ].join('\n')
}
