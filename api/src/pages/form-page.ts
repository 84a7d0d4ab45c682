// A page with a form: GET shows it, POST submits it.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Problem, Values } from './form.ts'
import { type Page, sendPage } from './page.ts'
import type { PageTexts } from './texts/english-pages.ts'
import { textsFor } from './texts/page-texts.ts'

type FormPage<S extends TSchema> = {
  readonly path: string
  /** All fields are text; empty ones count as absent. */
  readonly body: S
  readonly open: (texts: PageTexts, query: Values) => Page | Promise<Page>
  readonly again: (texts: PageTexts, values: Values, problem: Problem) => Page
  readonly submit: (texts: PageTexts, body: Static<S>, request: FastifyRequest) => Promise<Page>
}

const config = { access: 'page', envelope: false } as const

export function addFormPage<S extends TSchema>(app: FastifyInstance, page: FormPage<S>): void {
  const { path, body } = page
  app.get(path, { schema: { hide: true }, config }, async (request, reply) =>
    sendPage(reply, await page.open(textsFor(request), valuesOf(request.query))),
  )
  const options = {
    schema: { hide: true, body },
    config,
    preValidation: async (request: FastifyRequest) => {
      const values = valuesOf(request.body)
      request.formAgain = (problem) => page.again(textsFor(request), values, problem)
    },
  }
  app.post(path, options, async (request, reply) =>
    sendPage(reply, await page.submit(textsFor(request), request.body as Static<S>, request)),
  )
}

function valuesOf(fields: unknown): Values {
  const entries = Object.entries((fields ?? {}) as Record<string, unknown>)
  return Object.fromEntries(entries.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])))
}

export function readForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const options = { parseAs: 'string', bodyLimit: formBytesMax } as const
  app.addContentTypeParser('application/x-www-form-urlencoded', options, (_request, body, done) => {
    done(null, Object.fromEntries([...new URLSearchParams(String(body))].filter(([, value]) => value !== '')))
  })
}

/** The longest password, escaped, takes 1.5 KiB. */
const formBytesMax = 16_384
