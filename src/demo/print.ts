// What the demo says, as lines for a person; coloured on a terminal only.

export interface Print {
  /** The title of a step. */
  step(title: string): void
  /** A line that belongs to a step, name and value. */
  detail(name: string, value: string): void
  /** An answer's status, and what it means here. */
  answer(status: number, meaning: string): void
  line(text?: string): void
}

const BOLD = '1'
const DIM = '2'
const GREEN = '32'
const YELLOW = '33'
const NAME_WIDTH = 24

export function createPrint(write: (text: string) => void, colour: boolean): Print {
  const paint = (code: string, text: string): string =>
    colour ? `\u001b[${code}m${text}\u001b[0m` : text
  let steps = 0
  return {
    step: (title) => {
      steps += 1
      write(`\n${paint(BOLD, `${String(steps)}. ${title}`)}\n`)
    },
    detail: (name, value) => write(`   ${paint(DIM, name.padEnd(NAME_WIDTH))} ${value}\n`),
    answer: (status, meaning) => {
      const code = status < 400 ? GREEN : YELLOW
      write(`   ${paint(code, String(status))} ${meaning}\n`)
    },
    line: (text = '') => write(`${text}\n`),
  }
}
