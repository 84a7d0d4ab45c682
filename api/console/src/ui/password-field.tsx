// Passwords can be pasted, filled by a password manager, and shown.
import { useState } from 'react'
import { Button, FieldError, Group, Input, Label, Text, TextField } from 'react-aria-components'
import { useText } from '../text/text.ts'
import styles from './field.module.css'
import own from './password-field.module.css'
import { uiText } from './ui-text.ts'

type PasswordFieldProps = {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly hint?: string | undefined
  readonly error?: string | undefined
  /** `new-password` lets a password manager propose one. */
  readonly autoComplete?: 'current-password' | 'new-password' | 'off'
  readonly name?: string | undefined
  readonly autoFocus?: boolean | undefined
}

export function PasswordField(props: PasswordFieldProps) {
  const { label, value, onChange, hint, error, autoComplete = 'current-password', name = 'password' } = props
  const text = useText(uiText)
  const [isShown, setIsShown] = useState(false)
  return (
    <TextField
      className={styles.field}
      type={isShown ? 'text' : 'password'}
      name={name}
      autoComplete={autoComplete}
      value={value}
      onChange={onChange}
      isInvalid={error !== undefined}
      validationBehavior="aria"
      isRequired
      spellCheck="false"
      {...(props.autoFocus === true && { autoFocus: true })}
    >
      <Label className={styles.label}>{label}</Label>
      <Group className={own.group}>
        <Input className={`${styles.input} ${own.input}`} autoCapitalize="none" />
        <Button
          className={own.toggle}
          aria-pressed={isShown}
          aria-label={isShown ? text.hidePassword : text.showPassword}
          onPress={() => setIsShown(!isShown)}
        >
          <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" fill="none" stroke="currentColor">
            <path d="M1.5 10C4 5.5 7 4 10 4s6 1.5 8.5 6c-2.5 4.5-5.5 6-8.5 6s-6-1.5-8.5-6z" strokeWidth="1.5" />
            <circle cx="10" cy="10" r="2.5" strokeWidth="1.5" />
            {isShown && <path d="M3 17L17 3" strokeWidth="1.5" />}
          </svg>
        </Button>
      </Group>
      {hint !== undefined && error === undefined && (
        <Text slot="description" className={styles.hint}>
          {hint}
        </Text>
      )}
      <FieldError className={styles.error}>{error}</FieldError>
    </TextField>
  )
}

/** As the service counts: Unicode characters. */
const length = { min: 12, max: 128 } as const

type NewPasswordFieldProps = Pick<PasswordFieldProps, 'value' | 'onChange' | 'error' | 'autoFocus'> & {
  readonly label?: string
}

/** Says the rules before the first try. The service decides. */
export function NewPasswordField({ label, error, ...props }: NewPasswordFieldProps) {
  const text = useText(uiText)
  return (
    <PasswordField
      {...props}
      label={label ?? text.newPassword.label}
      name="new-password"
      autoComplete="new-password"
      hint={text.newPassword.hint}
      error={error === undefined ? undefined : text.newPassword[explainPassword(props.value)]}
    />
  )
}

/** Reason for a refusal by the service, which says it in English only. */
export function explainPassword(password: string): 'tooShort' | 'tooLong' | 'tooEasy' {
  const count = [...password].length
  if (count < length.min) return 'tooShort'
  return count > length.max ? 'tooLong' : 'tooEasy'
}
