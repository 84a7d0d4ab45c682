// `make quality`: how good the cut-outs are, beside the same model merely resized and beside other programs with the same
// weights. README.md says how to try a change.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { decodePhoto } from '@matte/controller/worker/image/decode'
import { rootDir } from '@matte/local/paths'
import type { Part } from './data/case.ts'
import { drawCase, listCases } from './data/data-set.ts'
import { measure } from './metrics/measure.ts'
import { formatTables, type Row, worstPictures } from './report/table.ts'
import { openModel } from './run/model.ts'
import type { Variant } from './run/variant.ts'
import { ownVariants } from './run/variants.ts'

const { values } = parseArgs({
  options: {
    part: { type: 'string', default: 'report' },
    what: { type: 'string', default: 'ours,resize' },
    only: { type: 'string', default: '' },
    large: { type: 'boolean', default: false },
    model: { type: 'string', multiple: true, default: [] },
    variants: { type: 'string' },
  },
})

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const parts: readonly Part[] = values.part === 'all' ? ['tune', 'report'] : [readPart(values.part)]
const models = new Map([['', resolve(rootDir, 'models/u2netp/1/model.onnx')]])
for (const given of values.model) {
  const [name = '', path = ''] = given.split('=')
  models.set(name, resolve(path))
}
const opened = new Map<string, Awaited<ReturnType<typeof openModel>>>()
for (const [name, path] of models) opened.set(name, await openModel(path))

const variants = await loadVariants()
const only = new RegExp(values.only)
const cases = (await listCases({ parts, large: values.large, say })).filter(({ name }) => only.test(name))
say(`${cases.length} pictures`)
const rows: Row[] = []
for (const one of cases) {
  const picture = await drawCase(one, say)
  for (const what of values.what.split(',')) {
    const [name = '', model = ''] = what.split('@')
    const variant = variants[name]
    const ask = opened.get(model)?.ask
    if (variant === undefined || ask === undefined) throw new Error(`no such variant: ${what}`)
    const result = await variant(await decodePhoto(picture.file, 50e6), ask)
    rows.push({ picture: picture.name, kind: picture.kind, variant: what, scores: measure(picture, result) })
  }
}
for (const { close } of opened.values()) await close()
say(`\n${formatTables(rows)}`)
for (const what of values.what.split(',').filter((name) => name !== 'resize')) {
  for (const [metric, least] of [
    ['mad', 0.002],
    ['grad', 0.5],
  ] as const) {
    const worst = worstPictures(rows, what, metric, least).slice(0, 5)
    say(`\n${what}, worst ${metric} ÷ resize`)
    for (const { picture, ratio, value, before } of worst) {
      say(`  ×${ratio.toFixed(2)} ${picture} (${value.toPrecision(3)}, resized ${before.toPrecision(3)})`)
    }
  }
}

function readPart(text: string): Part {
  if (text !== 'tune' && text !== 'report') throw new Error(`--part ${text}: tune, report or all`)
  return text
}

/** Our own, and those that the file of `--variants` exports as `variants`. */
async function loadVariants(): Promise<Readonly<Record<string, Variant>>> {
  if (values.variants === undefined) return ownVariants
  const loaded = (await import(pathToFileURL(resolve(values.variants)).href)) as { variants: Record<string, Variant> }
  return { ...ownVariants, ...loaded.variants }
}
