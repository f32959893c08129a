// Prints the demo's output as lines for a person, with colours only on a terminal.

/** Prints the output of the demo. */
export interface Print {
  line(text?: string): void
  heading(text: string): void
  /** Heading of the next numbered step of the tour. */
  step(title: string): void
  request(method: string, url: string, body?: object): void
  answer(status: number, meaning: string): void
  /** A named detail of an answer or of the stack. */
  detail(name: string, value: string): void
  /** Part of an answer, verbatim. */
  text(value: string): void
  /** Part of a long text and the seconds after which it arrived; uses as many lines as needed. */
  received(seconds: number, text: string): void
  /** A JSON object, one line per member. */
  json(document: object): void
  /** A command to copy, and what it shows. */
  command(purpose: string, ...lines: readonly string[]): void
  trouble(sentence: string): void
}

const BOLD = '1'
const DIM = '2'
const RED = '31'
const GREEN = '32'
const YELLOW = '33'
const CYAN = '36'
const NAME_WIDTH = 20
/** Width of the lines of a long text, without their prefix. */
const TEXT_WIDTH = 68

/** Creates the printer. colour: whether the output has colours. */
export function createPrint(write: (text: string) => void, colour: boolean): Print {
  const paint = (code: string, text: string): string =>
    colour ? `\u001b[${code}m${text}\u001b[0m` : text
  const line = (text = ''): void => write(`${text}\n`)
  let steps = 0
  return {
    line,
    heading: (text) => line(`\n${paint(BOLD, text)}`),
    step: (title) => {
      steps += 1
      line(`\n${paint(BOLD, `${String(steps)}. ${title}`)}`)
    },
    request: (method, url, body) => {
      line(`   ${paint(CYAN, '→')} ${method} ${url}`)
      if (body !== undefined) line(`     ${JSON.stringify(body)}`)
    },
    answer: (status, meaning) => {
      const code = status < 400 ? GREEN : YELLOW
      line(`   ${paint(CYAN, '←')} ${paint(code, String(status))} ${meaning}`)
    },
    detail: (name, value) => line(`     ${paint(DIM, name.padEnd(NAME_WIDTH))} ${value}`),
    text: (value) => line(`     ${value}`),
    received: (seconds, text) =>
      linesOf(text).forEach((each, index) => {
        const time = index === 0 ? seconds.toFixed(1) : ''
        line(`     ${paint(DIM, time.padStart(4))}  ${each}`)
      }),
    json: (document) => {
      const members = Object.entries(document).map(
        ([name, value]) => `       ${JSON.stringify(name)}: ${JSON.stringify(value)}`,
      )
      line(`     {\n${members.join(',\n')}\n     }`)
    },
    command: (purpose, ...lines) => {
      line(`\n   ${paint(DIM, `# ${purpose}`)}`)
      for (const each of lines) line(`   ${each}`)
    },
    trouble: (sentence) => line(`\n${paint(RED, sentence)}`),
  }
}

/** Splits a text into lines, between words if possible. */
const linesOf = (text: string): readonly string[] =>
  text.match(new RegExp(`\\S.{0,${String(TEXT_WIDTH - 1)}}(?=\\s|$)|\\S+`, 'g')) ?? []
