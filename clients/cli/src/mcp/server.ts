// Tools of the Model Context Protocol server, by the official SDK.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { Matte, Task } from 'matte-client'
import * as z from 'zod'
import { extensionOf, formatOfName } from '../cut/plan.ts'
import { checkWritable, fileExists, saveResult } from '../cut/save-result.ts'
import { isUrl, nameOfUrl, resultSuffix } from '../cut/sources.ts'
import { defined } from '../defined.ts'
import { renderError, showError } from '../print/error.ts'
import { take } from '../tasks/take.ts'
import { version } from '../version.ts'
import { type AllowedFolders, allowFolders } from './allowed-folders.ts'
import { fetchImage } from './fetch-image.ts'

export type ServeOptions = { readonly folders: readonly string[]; readonly allowPrivateUrls: boolean }

type Context = { readonly matte: Matte; readonly allowed: AllowedFolders; readonly allowPrivateUrls: boolean }

/** Ends when the assistant closes stdin. */
export async function serve(matte: Matte, { folders, allowPrivateUrls }: ServeOptions): Promise<void> {
  const allowed = await allowFolders(folders)
  const server = createServer({ matte, allowed, allowPrivateUrls })
  const transport = new StdioServerTransport()
  const closed = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
  })
  await server.connect(transport)
  await closed
  await server.close()
}

const removeInput = {
  source: z.string().describe('Path of a PNG, JPEG or WebP file below the allowed folders, or an http(s) URL.'),
  output: z.string().optional().describe('Path of the result below the allowed folders. Default: NAME-cutout.png.'),
  format: z.enum(['png', 'webp', 'jpeg']).optional().describe('Default: by the extension of output, else png.'),
  background: z.string().optional().describe('transparent (the default), #rrggbb or #rrggbbaa.'),
  crop: z.boolean().optional().describe('Crop to the foreground.'),
  cropMargin: z.string().optional().describe('Margin of the crop, such as 20px or 5%.'),
  maxSide: z.number().int().min(1).max(65_535).optional().describe('Scale the longer side down to this.'),
  channels: z.enum(['rgba', 'alpha']).optional().describe('alpha: only the mask.'),
  shadow: z
    .object({
      kind: z.enum(['drop', 'contact', 'cast']),
      opacity: z.number().int().min(0).max(100).optional().describe('Percent.'),
      grow: z.boolean().optional().describe('Enlarge the result until it holds the whole shadow.'),
    })
    .optional()
    .describe('Shadow under the subject. contact: on the ground, for products.'),
  model: z.string().optional().describe('Model version. Default: that of the service.'),
  overwrite: z.boolean().optional().describe('Replace a file that exists. Default: false.'),
}

type RemoveInput = z.infer<z.ZodObject<typeof removeInput>>

const removeOutput = {
  output: z.string(),
  taskId: z.string(),
  width: z.number().nullable(),
  height: z.number().nullable(),
  sizeBytes: z.number(),
}

const taskOutput = {
  id: z.string(),
  status: z.string(),
  createdAt: z.string(),
  completedAt: z.string().nullable(),
  modelVersion: z.string(),
  sourceUrl: z.string(),
  resultUrl: z.string().nullable(),
  width: z.number().nullable(),
  height: z.number().nullable(),
  failure: z.object({ reason: z.string(), message: z.string(), retryable: z.boolean() }).nullable(),
}

const statuses = ['queued', 'processing', 'succeeded', 'failed', 'canceled'] as const

export function createServer(context: Context): McpServer {
  const { matte, allowed } = context
  const server = new McpServer({ name: 'matte', version })
  server.registerTool(
    'remove_background',
    {
      title: 'Remove the background of an image',
      description:
        'Cuts the foreground out of a photo and writes it to a file. Costs one credit. ' +
        `Files are read and written only below: ${allowed.folders.join(', ')}.`,
      inputSchema: removeInput,
      outputSchema: removeOutput,
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    },
    (input, { signal }) =>
      answer(async () => {
        const result = await removeBackground(input, context, signal)
        const { output, width, height } = result
        return { text: `Wrote ${output} (${width}×${height}).`, structured: result }
      }),
  )
  server.registerTool(
    'list_tasks',
    {
      title: 'List tasks',
      description: 'Lists the latest tasks of the workspace, newest first.',
      inputSchema: {
        status: z.enum(statuses).optional(),
        limit: z.number().int().min(1).max(100).optional().describe('Default: 20.'),
      },
      outputSchema: { tasks: z.array(z.object(taskOutput)) },
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    ({ status, limit = 20 }) =>
      answer(async () => {
        const tasks: object[] = []
        for await (const task of take(matte.tasks.list({ pageSize: limit, ...defined({ status }) }), limit)) {
          tasks.push(toView(task))
        }
        return { text: JSON.stringify(tasks), structured: { tasks } }
      }),
  )
  server.registerTool(
    'get_task',
    {
      title: 'Get a task',
      description: 'Shows one task, with a link to its result that is valid for 7 days.',
      inputSchema: { id: z.string().describe('Id of the task.') },
      outputSchema: taskOutput,
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    ({ id }) =>
      answer(async () => {
        const task = toView(await matte.tasks.get(id))
        return { text: JSON.stringify(task), structured: task }
      }),
  )
  return server
}

type Structured = Record<string, unknown>

/** Errors become results that the assistant reads, with what to do. */
async function answer(run: () => Promise<{ text: string; structured: Structured }>) {
  try {
    const { text, structured } = await run()
    return { content: [{ type: 'text' as const, text }], structuredContent: structured }
  } catch (error) {
    return { content: [{ type: 'text' as const, text: renderError(showError(error)) }], isError: true }
  }
}

async function removeBackground(input: RemoveInput, context: Context, signal: AbortSignal) {
  const { matte, allowed, allowPrivateUrls } = context
  const { source, output, format, overwrite = false, shadow, ...options } = input
  const chosen = format ?? (output === undefined ? undefined : formatOfName(output)) ?? 'png'
  // The path is checked first, so no credit is spent on a result that has no place.
  const target = await allowed.toWrite(output ?? (await defaultOutput(source, chosen, allowed)))
  if (!overwrite && existsSync(target)) throw fileExists(target)
  await checkWritable(dirname(target))
  const isFetched = isUrl(source)
  const bytes = isFetched ? await fetchImage(source, allowPrivateUrls) : await readFile(await allowed.toRead(source))
  const fileName = isFetched ? nameOfUrl(source) : (source.split(/[\\/]/).at(-1) ?? source)
  const asked = defined({ ...options, shadow: shadow && { ...defined(shadow), kind: shadow.kind } })
  const cutout = await matte.removeBackground(bytes, { ...asked, format: chosen, fileName, signal })
  await saveResult(target, await cutout.bytes(), { overwrite })
  const { width, height } = cutout.task
  return { output: target, taskId: cutout.taskId, width, height, sizeBytes: cutout.sizeBytes }
}

/** Beside a file; a URL's result goes into the first allowed folder. */
async function defaultOutput(source: string, format: string, allowed: AllowedFolders): Promise<string> {
  const path = isUrl(source) ? join(allowed.folders[0] ?? '.', nameOfUrl(source)) : await allowed.toRead(source)
  return `${path.slice(0, path.length - extname(path).length)}${resultSuffix}.${extensionOf[format] ?? format}`
}

const toView = (task: Task): Structured => {
  const { id, status, createdAt, completedAt, modelVersion, sourceUrl, resultUrl, width, height, failure } = task
  return { id, status, createdAt, completedAt, modelVersion, sourceUrl, resultUrl, width, height, failure }
}
