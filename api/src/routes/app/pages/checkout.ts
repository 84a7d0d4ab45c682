// Checkout of the sandbox provider, with buttons for the payer's and the provider's actions. The link is the
// credential, while its order can be paid.

import { MatteError } from '@matte/core/error'
import { defaultLocale, personFormat } from '@matte/people/mail/person-format'
import { cancelOrder } from '@matte/people/payment/orders'
import { findCheckout, paySandbox } from '@matte/people/payment/sandbox'
import type { FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { type Problem, renderHidden, renderProblem } from '../../../pages/form.ts'
import { addFormPage } from '../../../pages/form-page.ts'
import { type Html, html } from '../../../pages/html.ts'
import { type Page, paragraph } from '../../../pages/page.ts'
import { oneOf } from '../../../schemas/schema.ts'
import type { PageDeps } from './page-deps.ts'

const checked = Type.Optional(Type.Literal('yes'))
const body = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 200 }),
  outcome: oneOf(['succeed', 'fail', 'cancel', 'delay', 'duplicate', 'reorder']),
  declineRenewals: checked,
  failRefunds: checked,
})

type Checkout = NonNullable<Awaited<ReturnType<typeof findCheckout>>>

export const checkoutPages: FastifyPluginAsync<PageDeps> = async (app, { payments, nudge, returnUrl }) => {
  const show = async (token: string, problem?: Problem): Promise<Page> => {
    const found = await findCheckout(payments, token)
    return found === undefined ? noCheckout : checkoutPage(found, { token, problem, returnUrl })
  }

  addFormPage(app, {
    path: '/api/v1/app/pages/checkout',
    body,
    open: ({ token = '' }) => show(token),
    again: (_values, { message }) => ({ title: 'That did not work', content: paragraph(message) }),
    submit: async ({ token, outcome, declineRenewals, failRefunds }) => {
      const found = await findCheckout(payments, token)
      if (found === undefined) return noCheckout
      const { order } = found
      try {
        if (outcome === 'cancel') await cancelOrder(payments, order)
        else {
          const payer = { declineRenewals: declineRenewals === 'yes', failRefunds: failRefunds === 'yes' }
          await paySandbox(payments, { orderId: order.id, outcome, ...payer })
        }
        nudge.delivery(order.id)
      } catch (error) {
        // Paid or canceled in another window; the page shows which.
        if (!(error instanceof MatteError && error.code === 'CONFLICT')) throw error
      }
      return show(token, outcome === 'fail' ? declined : undefined)
    },
  })
}

const declined: Problem = { message: 'The card was declined. Try again, or cancel the order.', fields: {} }

const noCheckout: Page = {
  title: 'There is nothing to pay here',
  status: 404,
  content: paragraph('The link is incomplete, or the order is gone. Read the order again for its link.'),
}

type Shown = { readonly token: string; readonly problem: Problem | undefined; readonly returnUrl: string }

function checkoutPage({ order, state, buyer }: Checkout, { token, problem, returnUrl }: Shown): Page {
  const { status, description, kind } = order
  const price = personFormat(buyer ?? defaultLocale).money(order.amount, order.currency)
  const isOpen = state === 'open'
  return {
    title: isOpen ? `Pay ${price}` : (titles[status] ?? onItsWay),
    hasProblem: isOpen && problem !== undefined,
    content: html`${isOpen && problem && renderProblem(problem)}
<dl>
<dt>Order</dt><dd>${description}</dd>
<dt>Amount</dt><dd><bdi>${price}</bdi></dd>
</dl>
${isOpen && buttons({ token, price, isSubscription: kind === 'subscription' })}
<p><a href="${returnUrl}?order=${order.id}">Back to the app</a></p>
`,
  }
}

const titles: Readonly<Record<string, string>> = {
  paid: 'The order is paid',
  canceled: 'The order is canceled',
  refunded: 'The order was refunded',
  partially_refunded: 'A part of the order was refunded',
}

const onItsWay = 'Paid, and not reported yet'

type Buttons = { readonly token: string; readonly price: string; readonly isSubscription: boolean }

const buttons = ({ token, price, isSubscription }: Buttons): Html => html`
<p class="hint">This is the sandbox: no money moves. Choose the outcome of the payment.</p>
<form method="post" action="/api/v1/app/pages/checkout">
${renderHidden({ token })}
<button name="outcome" value="succeed">Pay ${price}</button>
<button name="outcome" value="fail" class="quiet">Decline the card</button>
<button name="outcome" value="cancel" class="quiet">Cancel the order</button>
<details>
<summary>Other outcomes</summary>
${isSubscription && choice('declineRenewals', 'Decline each later charge of the subscription')}
${choice('failRefunds', 'Let refunds come back an hour after they succeed')}
<button name="outcome" value="delay" class="quiet">Pay, and report it 30 seconds later</button>
<button name="outcome" value="duplicate" class="quiet">Pay, and send each event twice</button>
<button name="outcome" value="reorder" class="quiet">Pay, and send the events in reverse order</button>
</details>
</form>
`

const choice = (name: string, label: string): Html =>
  html`<label class="choice"><input type="checkbox" name="${name}" value="yes"> ${label}</label>\n`
