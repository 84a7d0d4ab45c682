// Pages with sign-in: a new address, an invitation, and an access token.
import { recordChange } from '@matte/people/audit-log'
import { confirmEmail, isChangeOpen } from '@matte/people/identity/account/change-email'
import { findPersonalWorkspace } from '@matte/people/identity/account/own-workspaces'
import { issueTokens } from '@matte/people/identity/session/access-token'
import { acceptInvite } from '@matte/people/team/accept-invite'
import { isInviteOpen } from '@matte/people/team/invite-queries'
import { findTeam } from '@matte/people/team/team-queries'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { clientAddress } from '../../../limit/client-network.ts'
import { html } from '../../../pages/html.ts'
import { link, type Page, paragraph } from '../../../pages/page.ts'
import type { PageDeps } from './page-deps.ts'
import { addSignedPage } from './signed-page.ts'

export const signedPages: FastifyPluginAsync<PageDeps> = async (app, deps) => {
  const { db } = deps

  addSignedPage(app, deps, {
    path: '/api/v1/app/pages/confirm-email',
    codePath: '/api/v1/app/pages/confirm-email/code',
    title: 'Confirm your new address',
    intro: 'Sign in with the current address of your account. The new one then takes its place.',
    submit: 'Confirm new address',
    dead: async (token) => ((await isChangeOpen(db, token)) ? undefined : deadChange),
    act: async ({ userId }, request, token) => {
      const email = await confirmEmail(db, userId, token)
      await note(request, { userId, action: 'confirmEmail' })
      return { title: 'Your address is changed', content: paragraph(`From now on, sign in with ${email}.`) }
    },
  })

  addSignedPage(app, deps, {
    path: '/api/v1/app/pages/teams/accept',
    codePath: '/api/v1/app/pages/teams/accept/code',
    title: 'Accept the invitation',
    intro: 'Sign in with the address that the invitation was sent to.',
    submit: 'Join the team',
    more:
      deps.registers &&
      html`${paragraph('No account yet? Create one with that address, then open this link again.')}
${link('/api/v1/app/pages/register', 'Create an account')}`,
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
    path: '/api/v1/app/pages/login',
    codePath: '/api/v1/app/pages/login/code',
    title: 'Sign in',
    intro: 'This service has no web app of its own. Signing in here gives you a token for the API.',
    submit: 'Sign in',
    keepsSession: true,
    act: async (session) => {
      const { accessToken, expiresIn } = await issueTokens(deps.issuer, session)
      return tokenPage(accessToken, Math.round(expiresIn / 60))
    },
  })

  /** Records the change like the operation of the API. The change is committed, so an error is only logged. */
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
  content: paragraph('The invitation was used, revoked or replaced, or it is older than 7 days. Ask for a new one.'),
}

const tokenPage = (accessToken: string, minutes: number): Page => ({
  title: 'You are signed in',
  content: html`<p>Send this token with requests to the API, as <code>Authorization: Bearer</code> and the token.
It is valid for ${minutes} minutes. Anyone who has it can act as you, so keep it secret.</p>
<pre class="token" tabindex="0" aria-label="Access token">${accessToken}</pre>
<p><a href="/docs/api">Reference of the API</a></p>
`,
})
