// `make gen` writes the generated files and sections; `make verify` fails if one is stale.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rootDir } from '@matte/local/paths'
import { dashboardFiles } from './chart/dashboards/document.ts'
import { writeOperatorRules, writeValuesSchema, writeValuesTable, writeWorkerRules } from './chart/documents.ts'
import { writeSchemaDigest } from './chart/schema-digest.ts'
import { writeChartVersion, writeImageVersion } from './chart/version.ts'
import { writeOperations } from './clients/operations.ts'
import { writePythonModels } from './clients/python.ts'
import { writeAppTypes, writeTypeScriptConstants, writeTypeScriptTypes } from './clients/typescript.ts'
import { writeCrd, writeCrdOfAnyPodPatch } from './crd-file.ts'
import { writeEvents } from './events-document.ts'
import { writeMetrics } from './metrics-document.ts'
import { writePoolReference } from './pool-document.ts'
import { writePortsAndSettings } from './settings-document.ts'

/**
 * Generated files and files with generated sections. Each function takes the current text, empty for a new file. The
 * order matters: the chart's schema and README depend on values.yaml.
 */
const generated: Readonly<Record<string, (before: string) => string | Promise<string>>> = {
  'charts/matte/Chart.yaml': writeChartVersion,
  'charts/matte/values.yaml': writeImageVersion,
  'local/README.md': writePortsAndSettings,
  'charts/matte/files/crds/tritonpools.matte.dev.yaml': writeCrd,
  'charts/matte/files/operator-rules.yaml': writeOperatorRules,
  'charts/matte/files/schema-digest': writeSchemaDigest,
  'charts/matte/files/worker-rules.yaml': writeWorkerRules,
  'charts/matte/values.schema.json': writeValuesSchema,
  'charts/matte/README.md': writeValuesTable,
  'charts/matte/files/crds/any-pod-patch/tritonpools.matte.dev.yaml': writeCrdOfAnyPodPatch,
  'docs/metrics.md': writeMetrics,
  'docs/events.md': writeEvents,
  'docs/tritonpool-reference.md': writePoolReference,
  'clients/typescript/src/generated/api.ts': writeTypeScriptTypes,
  'clients/typescript/src/generated/app.ts': writeAppTypes,
  'clients/typescript/src/generated/constants.ts': writeTypeScriptConstants,
  'clients/python/src/matte/_generated.py': writePythonModels,
  'clients/python/tests/operations.json': writeOperations,
  ...dashboardFiles,
}

const checking = process.argv.includes('--check')

let stale = 0
for (const [path, write] of Object.entries(generated)) {
  const file = join(rootDir, path)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const after = await write(before)
  if (after === before) continue
  stale += 1
  if (checking) {
    process.stderr.write(`${path} is stale: run make gen.\n`)
    process.exitCode = 1
  } else {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, after)
    process.stdout.write(`Wrote ${path}.\n`)
  }
}
if (stale === 0) process.stdout.write('Generated files are up to date.\n')
