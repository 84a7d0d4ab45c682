// Pages with sign-in: a new address, an invitation, and an access token.

import { inTransaction } from '@matte/core/db/in-transaction'
import { confirmEmail, isChangeOpen } from '@matte/people/identity/account/change-email'
import { issueTokens } from '@matte/people/identity/session/access-token'
import { acceptInvite } from '@matte/people/team/accept-invite'
import { isInviteOpen } from '@matte/people/team/invite-queries'
import { findTeam } from '@matte/people/team/team-queries'
import type { FastifyPluginAsync } from 'fastify'
import { auditOf, originOf } from '../../../http/audit.ts'
import { html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import type { PageTexts } from '../../../pages/texts/english-pages.ts'
import type { PageDeps } from './page-deps.ts'
import { addSignedPage } from './signed-page.ts'

export const signedPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  const { db } = deps

  addSignedPage(app, deps, {
    path: '/api/v1/app/pages/confirm-email',
    codePath: '/api/v1/app/pages/confirm-email/code',
    words: ({ confirmEmail: title, confirmEmailIntro: intro, confirmEmailButton: submit }) => ({
      title,
      intro,
      submit,
    }),
    dead: async (texts, token) => ((await isChangeOpen(db, token)) ? undefined : deadPage(texts, texts.deadChange)),
    act: async (texts, { session: { userId }, request, token }) => {
      const audit = auditOf(request, { userId, action: 'confirmEmail' })
      const email = await inTransaction(db, async (tx) => {
        const confirmed = await confirmEmail(tx, userId, token)
        await audit(tx)
        return confirmed
      })
      return { title: texts.emailChanged, content: paragraph(texts.emailChangedIntro(email)) }
    },
  })

  addSignedPage(app, deps, {
    path: '/api/v1/app/pages/teams/accept',
    codePath: '/api/v1/app/pages/teams/accept/code',
    words: (texts) => ({
      title: texts.acceptInvite,
      intro: texts.acceptInviteIntro,
      submit: texts.acceptInviteButton,
      more:
        deps.registers &&
        html`${paragraph(texts.inviteNoAccount)}
${link('/api/v1/app/pages/register', texts.register)}`,
    }),
    dead: async (texts, token) => ((await isInviteOpen(db, token)) ? undefined : deadPage(texts, texts.deadInvitation)),
    act: async (texts, { session: { userId }, request, token }) => {
      const audit = auditOf(request, { userId, action: 'acceptTeamInvite' })
      const doer = { userId, origin: originOf(request, { userId }) }
      const { id } = await inTransaction(db, async (tx) => {
        const joined = await acceptInvite(tx, { doer, token })
        await audit(tx, joined.id)
        return joined
      })
      const team = await findTeam(db, id, userId)
      return { title: texts.joined(team?.name ?? ''), content: paragraph(texts.closePage) }
    },
  })

  addSignedPage(app, deps, {
    path: '/api/v1/app/pages/login',
    codePath: '/api/v1/app/pages/login/code',
    words: ({ signIn, loginIntro: intro }) => ({ title: signIn, intro, submit: signIn }),
    keepsSession: true,
    act: async (texts, { session }) => {
      const { accessToken, expiresIn } = await issueTokens(deps.issuer, session)
      return tokenPage(texts, accessToken, Math.round(expiresIn / 60))
    },
  })
}

const deadPage = ({ deadLink }: PageTexts, why: string): Page => ({
  title: deadLink,
  status: 404,
  content: paragraph(why),
})

const tokenPage = (texts: PageTexts, accessToken: string, minutes: number): Page => ({
  title: texts.signedIn,
  content: html`${texts.tokenIntro(minutes)}
<pre class="token" tabindex="0" aria-label="${texts.tokenLabel}">${accessToken}</pre>
${link('/docs/api', texts.apiReference)}`,
})
