// A page with a form. GET shows the form and changes nothing; POST acts on it and shows the result.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { Problem, Values } from './form.ts'
import { type Page, sendPage } from './page.ts'

type FormPage<S extends TSchema> = {
  /** Below the pages' own path. */
  readonly path: string
  /** Of the form; all of its fields are texts, and an empty one is absent. */
  readonly body: S
  readonly open: (query: Values) => Page | Promise<Page>
  readonly again: (values: Values, problem: Problem) => Page
  readonly submit: (body: Static<S>, request: FastifyRequest) => Promise<Page>
}

/** No part of the API's document: people read these answers, not programs. */
const config = { access: 'page', envelope: false } as const

export function addFormPage<S extends TSchema>(app: FastifyInstance, page: FormPage<S>): void {
  const { path, body } = page
  app.get(path, { schema: { hide: true }, config }, async (request, reply) =>
    sendPage(reply, await page.open(textsOf(request.query))),
  )
  const options = {
    schema: { hide: true, body },
    config,
    preValidation: async (request: FastifyRequest) => {
      const values = textsOf(request.body)
      request.formAgain = (problem) => page.again(values, problem)
    },
  }
  app.post(path, options, async (request, reply) =>
    sendPage(reply, await page.submit(request.body as Static<S>, request)),
  )
}

/** A parameter that comes twice is ignored. */
function textsOf(fields: unknown): Values {
  const entries = Object.entries((fields ?? {}) as Record<string, unknown>)
  return Object.fromEntries(entries.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])))
}

/** Reads forms as browsers send them, and nothing else. */
export function readForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const options = { parseAs: 'string', bodyLimit: formBytesMax } as const
  app.addContentTypeParser('application/x-www-form-urlencoded', options, (_request, body, done) => {
    done(null, Object.fromEntries([...new URLSearchParams(String(body))].filter(([, value]) => value !== '')))
  })
}

/** The longest password, in four bytes a character and each byte escaped, is 1.5 KiB. */
const formBytesMax = 16_384
