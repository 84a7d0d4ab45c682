// `make quality`: quality of the cut-outs beside the resized mask and other programs with the same weights. Exits with
// 1 on a missed target; `--report` only measures. README.md says how to try a change.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { rootDir } from '@matte/local/paths'
import { printConfidence } from './confidence/print-confidence.ts'
import type { Part } from './data/case.ts'
import { drawCase, listCases } from './data/data-set.ts'
import { peerNames } from './peers/run-peers.ts'
import { createSheet } from './report/sheet.ts'
import { formatTables, plain, type Row, worstPictures } from './report/table.ts'
import { formatTargets, judge } from './report/targets.ts'
import { runBench } from './run/bench.ts'
import { type Model, openModel } from './run/model.ts'
import { readPairs } from './run/pairs.ts'
import type { Variant } from './run/variant.ts'
import { ownVariants } from './run/variants.ts'

const { values } = parseArgs({
  options: {
    part: { type: 'string', default: 'report' },
    what: { type: 'string', default: ['ours', 'ours-two-views', plain, ...peerNames].join(',') },
    judge: { type: 'string', default: 'ours' },
    only: { type: 'string', default: '' },
    large: { type: 'boolean', default: false },
    model: { type: 'string', multiple: true, default: [] },
    variants: { type: 'string' },
    pairs: { type: 'string', multiple: true, default: [] },
    out: { type: 'string' },
    report: { type: 'boolean', default: false },
    confidence: { type: 'boolean', default: false },
  },
})

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const begun = performance.now()
if (values.confidence) {
  if (!(await printConfidence(modelFiles(), say))) process.exitCode = 1
  process.exit()
}
const what = values.what.split(',')
const sheet = values.out === undefined ? undefined : createSheet(resolve(values.out))
const pictures = await listPictures()
say(`${pictures.length} pictures`)
const models = new Map<string, Model>()
for (const [name, path] of modelFiles()) models.set(name, await openModel(path))
const rows = await runBench({ pictures, what, variants: await loadVariants(), models, sheet, say })
for (const { close } of models.values()) await close()

const tables = formatTables(rows)
say(`\n${tables}`)
for (const variant of what.filter((name) => name !== plain)) say(formatWorst(rows, variant))
const canJudge = values.part === 'report' && what.includes(values.judge) && what.includes(plain)
const targets = canJudge ? judge(rows, values.judge) : []
if (targets.length > 0) say(`\ntargets of ${values.judge}\n${formatTargets(targets)}`)
if (sheet !== undefined) say(`\nto look at: ${await sheet.write(`${tables}\n\n${formatTargets(targets)}`)}`)
say(`\n${((performance.now() - begun) / 1000).toFixed(0)} s`)
if (!values.report && !targets.every(({ isMet }) => isMet)) process.exitCode = 1

/** Drawn pictures and pairs; a folder of pairs can be measured alone. */
async function listPictures() {
  const only = new RegExp(values.only)
  const pairs = (await Promise.all(values.pairs.map(readPairs))).flat()
  if (pairs.length > 0) return pairs
  const { part, large } = values
  if (part !== 'tune' && part !== 'report' && part !== 'all') throw new Error(`--part ${part}: tune, report or all`)
  const parts: readonly Part[] = part === 'all' ? ['tune', 'report'] : [part]
  const cases = (await listCases({ parts, large, say })).filter(({ name }) => only.test(name))
  return cases.map((one) => () => drawCase(one, say))
}

function modelFiles(): Map<string, string> {
  const files = new Map([['', resolve(rootDir, 'models/u2netp/1/model.onnx')]])
  for (const given of values.model) {
    const at = given.indexOf('=')
    if (at < 1) throw new Error(`--model ${given}: NAME=FILE`)
    files.set(given.slice(0, at), given.slice(at + 1))
  }
  return files
}

/** The product's variants, and those of the `--variants` file. */
async function loadVariants(): Promise<Readonly<Record<string, Variant>>> {
  if (values.variants === undefined) return ownVariants
  const loaded = (await import(pathToFileURL(resolve(values.variants)).href)) as { variants: Record<string, Variant> }
  return { ...ownVariants, ...loaded.variants }
}

function formatWorst(all: readonly Row[], variant: string): string {
  const lines = (['mad', 'grad'] as const).flatMap((metric) => [
    `\n${variant}, worst ${metric} ÷ ${plain}`,
    ...worstPictures(all, variant, metric)
      .slice(0, 5)
      .map(({ picture, ratio, value, before }) => {
        const numbers = `${value.toPrecision(3)}, ${plain} ${before.toPrecision(3)}`
        return `  ×${ratio.toFixed(2)} ${picture} (${numbers})`
      }),
  ])
  return lines.join('\n')
}
