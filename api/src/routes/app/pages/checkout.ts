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
import type { PageTexts } from '../../../pages/texts/english-pages.ts'
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
  const show = async (texts: PageTexts, token: string, problem?: Problem): Promise<Page> => {
    const found = await findCheckout(payments, token)
    return found === undefined ? noCheckout(texts) : checkoutPage(texts, found, { token, problem, returnUrl })
  }

  addFormPage(app, {
    path: '/api/v1/app/pages/checkout',
    body,
    open: (texts, { token = '' }) => show(texts, token),
    again: (texts, _values, { message }) => ({ title: texts.errorTitle, content: paragraph(message) }),
    submit: async (texts, { token, outcome, declineRenewals, failRefunds }) => {
      const found = await findCheckout(payments, token)
      if (found === undefined) return noCheckout(texts)
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
      return show(texts, token, outcome === 'fail' ? { message: texts.declined, fields: {} } : undefined)
    },
  })
}

const noCheckout = ({ noCheckout: title, noCheckoutIntro }: PageTexts): Page => ({
  title,
  status: 404,
  content: paragraph(noCheckoutIntro),
})

type Shown = { readonly token: string; readonly problem: Problem | undefined; readonly returnUrl: string }

function checkoutPage(texts: PageTexts, { order, state, buyer }: Checkout, { token, problem, returnUrl }: Shown): Page {
  const { status, description, kind } = order
  const price = personFormat(buyer ?? defaultLocale).money(order.amount, order.currency)
  const isOpen = state === 'open'
  return {
    title: isOpen ? texts.pay(price) : (texts.orderTitles[status] ?? texts.paidNotReported),
    hasProblem: isOpen && problem !== undefined,
    content: html`${isOpen && problem && renderProblem(problem)}
<dl>
<dt>${texts.order}</dt><dd>${description}</dd>
<dt>${texts.amount}</dt><dd><bdi>${price}</bdi></dd>
</dl>
${isOpen && buttons(texts, { token, price, isSubscription: kind === 'subscription' })}
<p><a href="${returnUrl}?order=${order.id}">${texts.backToApp}</a></p>
`,
  }
}

type Buttons = { readonly token: string; readonly price: string; readonly isSubscription: boolean }

const buttons = (texts: PageTexts, { token, price, isSubscription }: Buttons): Html => html`
<p class="hint">${texts.sandbox}</p>
<form method="post" action="/api/v1/app/pages/checkout">
${renderHidden({ token })}
<button name="outcome" value="succeed">${texts.pay(price)}</button>
<button name="outcome" value="fail" class="quiet">${texts.decline}</button>
<button name="outcome" value="cancel" class="quiet">${texts.cancelOrder}</button>
<details>
<summary>${texts.otherOutcomes}</summary>
${isSubscription && choice('declineRenewals', texts.declineRenewals)}
${choice('failRefunds', texts.failRefunds)}
<button name="outcome" value="delay" class="quiet">${texts.payDelayed}</button>
<button name="outcome" value="duplicate" class="quiet">${texts.payDuplicate}</button>
<button name="outcome" value="reorder" class="quiet">${texts.payReordered}</button>
</details>
</form>
`

const choice = (name: string, label: string): Html =>
  html`<label class="choice"><input type="checkbox" name="${name}" value="yes"> ${label}</label>\n`
