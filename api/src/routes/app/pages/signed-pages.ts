// Pages that require a sign-in: a new address, an invitation, and a token for the API.
import { recordChange } from '@matte/core/audit/record-change'
import { confirmEmail, isChangeOpen } from '@matte/core/identity/email/change-email'
import { findPersonalWorkspace } from '@matte/core/identity/personal/own-workspaces'
import { issueTokens } from '@matte/core/identity/session/issue-tokens'
import { acceptInvite } from '@matte/core/team/invite/accept-invite'
import { isInviteOpen } from '@matte/core/team/invite/find-invite'
import { findTeam } from '@matte/core/team/team-queries'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { clientAddress } from '../../../client-address.ts'
import { html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import type { PageDeps } from './page-deps.ts'
import { addSignedPage } from './signed-page.ts'

export const signedPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  const { db } = deps

  addSignedPage(app, deps, {
    path: '/confirm-email',
    title: 'Confirm your new address',
    intro: 'Sign in with the present address of your account. The new one then takes its place.',
    submit: 'Confirm new address',
    dead: async (token) => ((await isChangeOpen(db, token)) ? undefined : deadChange),
    act: async ({ userId }, request, token) => {
      const email = await confirmEmail(db, userId, token)
      await note(request, { userId, action: 'confirmEmail' })
      return { title: 'Your address is changed', content: paragraph(`From now on, sign in with ${email}.`) }
    },
  })

  addSignedPage(app, deps, {
    path: '/teams/accept',
    title: 'Accept the invitation',
    intro: 'Sign in with the address that the invitation was sent to.',
    submit: 'Join the team',
    more:
      deps.registers &&
      html`${paragraph('No account yet? Create one with that address, then open this link again.')}
${link('/register', 'Create an account')}`,
    dead: async (token) => ((await isInviteOpen(db, token)) ? undefined : deadInvitation),
    act: async ({ userId }, request, token) => {
      const doer = { userId, ipAddress: clientAddress(request.ip), requestId: request.id }
      const { id } = await acceptInvite(db, { doer, token })
      await note(request, { userId, action: 'acceptTeamInvite', target: id })
      const team = await findTeam(db, id, userId)
      return { title: `You are in the team ${team?.name ?? ''}`, content: paragraph('You can close this page.') }
    },
  })

  addSignedPage(app, deps, {
    path: '/login',
    title: 'Sign in',
    intro: 'This service has no web app of its own. Signing in here gives you a token for the API.',
    submit: 'Sign in',
    keepsSession: true,
    act: async (session) => {
      const { accessToken, expiresIn } = await issueTokens(deps.issuer, session)
      return tokenPage(accessToken, Math.round(expiresIn / 60))
    },
  })

  /** As the operation of the API is noted (D74). The change is made, so an error is logged and not shown. */
  async function note(request: FastifyRequest, { userId, action, target = null }: Change): Promise<void> {
    try {
      const workspaceId = (await findPersonalWorkspace(db, userId))?.id ?? null
      const ipAddress = clientAddress(request.ip)
      await recordChange(db, { workspaceId, userId, action, target, ipAddress, requestId: request.id })
    } catch (error) {
      request.log.error({ err: error, action }, 'change not audited')
    }
  }
}

type Change = { readonly userId: string; readonly action: string; readonly target?: string | null }

const deadChange: Page = {
  title: 'This link does not work',
  status: 404,
  content: paragraph('It was used already, it is older than a day, or a later one took its place. Change it again.'),
}

const deadInvitation: Page = {
  title: 'This link does not work',
  status: 404,
  content: paragraph('The invitation was used, taken back or replaced, or it is older than 7 days. Ask for a new one.'),
}

const tokenPage = (accessToken: string, minutes: number): Page => ({
  title: 'You are signed in',
  content: html`<p>Send this token with requests to the API, as <code>Authorization: Bearer</code> and the token.
It is good for ${minutes} minutes. Whoever has it can act as you, so give it to nobody.</p>
<pre class="token" tabindex="0" aria-label="Access token">${accessToken}</pre>
<p><a href="/api/v1/docs">Reference of the API</a></p>
`,
})
