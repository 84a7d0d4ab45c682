import type { ErrorCode } from '@matte/core/error'
import { html } from '../html.ts'

type Named = Partial<Record<string, string>>

export const englishPages = {
  language: 'en' as 'en' | 'de',

  errorPrefix: 'Error: ',
  optional: '(optional)',
  linkIncomplete: 'The link is incomplete. Open it again from the mail.',
  correctFields: 'Correct the marked fields and send the form again.',
  notAForm: 'The request is not a form of this page.',
  errorTitle: 'That did not work',
  errorTitles: {
    AUTH_FORBIDDEN: 'This was refused',
    NOT_FOUND: 'There is no such page',
    RATE_LIMIT_EXCEEDED: 'Too many requests',
  } as Partial<Record<ErrorCode, string>>,
  /** Sentence for an error of the service. */
  error: (_code: ErrorCode, message: string): string => message,
  /** Ends the sentence that begins with the label of a field. */
  issue: (message: string): string => message,

  email: 'E-mail address',
  password: 'Password',
  newPassword: 'New password',
  passwordHint: 'At least 12 characters. Several words are easier to remember than one difficult one.',
  name: 'Name',
  code: 'Code',
  codeHint: 'From your authenticator app, or one of your recovery codes.',
  signIn: 'Sign in',
  chooseNewPassword: 'Choose a new password',

  checkMail: 'Check your mail',
  checkSpam: 'No mail after a few minutes? Check your spam folder.',
  deadLink: 'This link does not work',

  register: 'Create an account',
  registerButton: 'Create account',
  registered: 'A mail with a link is on its way. Your account is ready once you have confirmed the address.',
  haveAccount: 'Already have an account?',

  verify: 'Confirm your address',
  verifyIntro: 'Enter the password that you registered with. It shows that the registration is yours.',
  verifyButton: 'Confirm address',
  resendIntro: 'Enter the address that you registered with. You get another link by mail.',
  resendButton: 'Send another link',
  resent: 'If this address was registered and not confirmed yet, a new link is on its way.',
  deadVerification:
    'It was used already, it is older than a day, or it is incomplete. If your address is confirmed, sign in. ' +
    'Otherwise, request another link.',
  verified: 'Your address is confirmed',
  accountReady: 'Your account is ready. You can close this page, or sign in.',

  forgotIntro: 'Enter the address of your account. You get a link by mail that works for 10 minutes.',
  forgotButton: 'Send the link',
  resetSent: 'If this address has an account, a link to choose a new password is on its way.',
  deadReset: 'It was used already, it is older than 10 minutes, or it is incomplete. Ask for another.',
  resetIntro: 'You are then signed out everywhere. Two-factor authentication stays as it is.',
  resetButton: 'Save the new password',
  passwordChanged: 'Your password is changed',
  passwordChangedIntro: 'Sign in with the new password.',

  unverified: 'Your address is not confirmed yet. A new link is on its way.',
  enterCode: 'Enter a code',
  codeIntro: 'This account uses two-factor authentication. Each code works once.',

  confirmEmail: 'Confirm your new address',
  confirmEmailIntro: 'Sign in with the current address of your account. The new one then takes its place.',
  confirmEmailButton: 'Confirm new address',
  deadChange: 'It was used already, it is older than a day, or a later one took its place. Change it again.',
  emailChanged: 'Your address is changed',
  emailChangedIntro: (email: string): string => `From now on, sign in with ${email}.`,

  acceptInvite: 'Accept the invitation',
  acceptInviteIntro: 'Sign in with the address that the invitation was sent to.',
  acceptInviteButton: 'Join the team',
  inviteNoAccount: 'No account yet? Create one with that address, then open this link again.',
  deadInvitation: 'The invitation was used, revoked or replaced, or it is older than 7 days. Ask for a new one.',
  joined: (team: string): string => `You are in the team ${team}`,
  closePage: 'You can close this page.',

  loginIntro: 'Signing in here gives you a token for the API.',
  signedIn: 'You are signed in',
  tokenIntro: (minutes: number) =>
    html`<p>Send this token with requests to the API, as <code>Authorization: Bearer</code> and the token.
It is valid for ${minutes} minutes. Anyone who has it can act as you, so keep it secret.</p>`,
  tokenLabel: 'Access token',
  apiReference: 'Reference of the API',

  backFromCheckout: 'You are back from the checkout',
  backFromCheckoutIntro: 'If you paid, the order is paid as soon as the provider confirms it. You can close this page.',
  declined: 'The card was declined. Try again, or cancel the order.',
  noCheckout: 'There is nothing to pay here',
  noCheckoutIntro: 'The link is incomplete, or the order is gone. Read the order again for its link.',
  pay: (price: string): string => `Pay ${price}`,
  order: 'Order',
  amount: 'Amount',
  backToApp: 'Back to the app',
  orderTitles: {
    paid: 'The order is paid',
    canceled: 'The order is canceled',
    refunded: 'The order was refunded',
    partially_refunded: 'A part of the order was refunded',
  } as Named,
  paidNotReported: 'Paid, and not reported yet',
  sandbox: 'This is the sandbox: no money moves. Choose the outcome of the payment.',
  decline: 'Decline the card',
  cancelOrder: 'Cancel the order',
  otherOutcomes: 'Other outcomes',
  declineRenewals: 'Decline each later charge of the subscription',
  failRefunds: 'Let refunds come back an hour after they succeed',
  payDelayed: 'Pay, and report it 30 seconds later',
  payDuplicate: 'Pay, and send each event twice',
  payReordered: 'Pay, and send the events in reverse order',
}

/** Texts of every page in one language. */
export type PageTexts = Readonly<typeof englishPages>
