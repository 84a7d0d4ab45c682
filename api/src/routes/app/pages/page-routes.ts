// Pages for installations without a web app: the links in mails, and the sandbox's checkout.
import type { ErrorCode } from '@matte/core/error'
import type { FastifyPluginAsync } from 'fastify'
import { readForms } from '../../../pages/form-page.ts'
import { paragraph, sendPage } from '../../../pages/page.ts'
import { pageErrorHandler, requireSameSite } from '../../../pages/page-errors.ts'
import { icon, style } from '../../../pages/style.ts'
import { textsFor } from '../../../pages/texts/page-texts.ts'
import { checkoutPages } from './checkout.ts'
import type { PageDeps } from './page-deps.ts'
import { passwordPages } from './passwords.ts'
import { registerPages } from './register.ts'
import { signedPages } from './signed-pages.ts'
import { verifyEmailPages } from './verify-email.ts'

type PageRouteDeps = PageDeps & {
  readonly config: { readonly publicUrl: string }
  readonly metrics: { readonly countError: (code: ErrorCode) => void }
}

/** The files change only with a release. */
const cacheControl = 'public, max-age=3600'

export const pageRoutes: FastifyPluginAsync<PageRouteDeps> = async (app, deps) => {
  app.decorateRequest('formAgain', null)
  app.setErrorHandler(pageErrorHandler(deps.metrics.countError))
  readForms(app)
  app.addHook('onRequest', async (request) => requireSameSite(request, deps.config.publicUrl))

  const file = { schema: { hide: true }, config: { access: 'public', envelope: false } } as const
  app.get('/api/v1/app/pages/style.css', file, async (_request, reply) =>
    reply.header('cache-control', cacheControl).type('text/css; charset=utf-8').send(style),
  )
  app.get('/api/v1/app/pages/icon.svg', file, async (_request, reply) =>
    reply.header('cache-control', cacheControl).type('image/svg+xml').send(icon),
  )
  // Payers return here from any provider.
  const page = { schema: { hide: true }, config: { access: 'page', envelope: false } } as const
  app.get('/api/v1/app/pages/billing', page, async (request, reply) => {
    const { backFromCheckout: title, backFromCheckoutIntro: intro } = textsFor(request)
    return sendPage(reply, { title, content: paragraph(intro) })
  })

  for (const pages of [verifyEmailPages, passwordPages, registerPages, signedPages, checkoutPages]) {
    await app.register(pages, { ...deps, prefix: '' })
  }
}
