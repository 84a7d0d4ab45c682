// Labelled inputs. Each shows its hint, and its error in place of the hint.
import type { ReactNode } from 'react'
import {
  Checkbox as AriaCheckbox,
  Select as AriaSelect,
  Switch as AriaSwitch,
  TextField as AriaTextField,
  Button,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  SelectValue,
  Text,
  TextArea,
} from 'react-aria-components'
import styles from './field.module.css'

type Common = {
  readonly label: string
  readonly hint?: string | undefined
  /** Shown as an error, for example that of the service. */
  readonly error?: string | undefined
}

type TextFieldProps = Common & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: 'text' | 'email' | 'password' | 'url' | 'number' | 'search' | 'date' | 'datetime-local' | undefined
  readonly name?: string | undefined
  readonly autoComplete?: string | undefined
  readonly placeholder?: string | undefined
  readonly inputMode?: 'numeric' | 'text' | undefined
  readonly isRequired?: boolean | undefined
  readonly isDisabled?: boolean | undefined
  readonly autoFocus?: boolean | undefined
  readonly maxLength?: number | undefined
  /** Lines of a multi-line input. */
  readonly rows?: number | undefined
  /** Hides the label from sight. */
  readonly isLabelHidden?: boolean | undefined
}

export function TextField({ label, hint, error, rows, placeholder, isLabelHidden, ...props }: TextFieldProps) {
  const given = Object.fromEntries(Object.entries(props).filter(([, value]) => value !== undefined))
  return (
    <AriaTextField {...given} className={styles.field} isInvalid={error !== undefined} validationBehavior="aria">
      <Label className={isLabelHidden ? 'visually-hidden' : styles.label}>{label}</Label>
      {rows === undefined ? (
        <Input className={styles.input} placeholder={placeholder} />
      ) : (
        <TextArea className={styles.input} placeholder={placeholder} rows={rows} />
      )}
      <Notes hint={hint} error={error} />
    </AriaTextField>
  )
}

const Notes = ({ hint, error }: Pick<Common, 'hint' | 'error'>) => (
  <>
    {hint !== undefined && error === undefined && (
      <Text slot="description" className={styles.hint}>
        {hint}
      </Text>
    )}
    <FieldError className={styles.error}>{error}</FieldError>
  </>
)

export type Choice<Value extends string> = { readonly value: Value; readonly label: string }

type SelectFieldProps<Value extends string> = Common & {
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly choices: readonly Choice<Value>[]
  readonly isDisabled?: boolean | undefined
  readonly isLabelHidden?: boolean | undefined
}

export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, hint, error, value, onChange, choices, isDisabled = false, isLabelHidden } = props
  return (
    <AriaSelect
      className={styles.field}
      selectedKey={value}
      onSelectionChange={(key) => onChange(key as Value)} // of one of the choices
      isDisabled={isDisabled}
      isInvalid={error !== undefined}
      validationBehavior="aria"
    >
      <Label className={isLabelHidden ? 'visually-hidden' : styles.label}>{label}</Label>
      <Button className={`${styles.input} ${styles.select}`}>
        <SelectValue className={styles.value} />
        <svg aria-hidden="true" width="12" height="12" viewBox="0 0 12 12">
          <path d="M2 4l4 4 4-4" fill="none" stroke="currentColor" strokeWidth="1.5" />
        </svg>
      </Button>
      <Notes hint={hint} error={error} />
      <Popover className={styles.popover}>
        <ListBox className={styles.list} items={choices}>
          {(choice) => (
            <ListBoxItem id={choice.value} className={styles.option}>
              {choice.label}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </AriaSelect>
  )
}

type ToggleProps = {
  readonly isSelected: boolean
  readonly onChange: (isSelected: boolean) => void
  readonly children: ReactNode
  readonly isDisabled?: boolean
}

export const SwitchField = ({ children, ...props }: ToggleProps) => (
  <AriaSwitch {...props} className={styles.toggle}>
    <span className={styles.track} aria-hidden="true" />
    <span>{children}</span>
  </AriaSwitch>
)

export const CheckboxField = ({ children, ...props }: ToggleProps) => (
  <AriaCheckbox {...props} className={styles.toggle}>
    <span className={styles.box} aria-hidden="true">
      <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
        <path d="M2 6.5l3 3 5-6" fill="none" stroke="currentColor" strokeWidth="2" />
      </svg>
    </span>
    <span>{children}</span>
  </AriaCheckbox>
)
