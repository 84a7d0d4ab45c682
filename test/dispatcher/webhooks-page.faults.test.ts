// Snippets of docs/webhooks.md in languages with a compiler, against signatures of the dispatcher's own code.
import { describe } from 'vitest'
import { testLanguage } from './webhooks-page.ts'

describe('the receiver of docs/webhooks.md', () => {
  testLanguage('in Go', {
    fence: 'go',
    snippet: { file: 'snippet.go', before: 'package main\n\n' },
    files: {
      'main.go': `package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	body, _ := io.ReadAll(os.Stdin)
	if IsGenuine(os.Args[1], body, os.Args[2]) {
		fmt.Println("genuine")
	} else {
		fmt.Println("forged")
	}
}
`,
    },
    build: ['go', 'build', '-o', 'verify', 'main.go', 'snippet.go'],
    run: ['./verify'],
    // No download of another toolchain.
    env: { GOTOOLCHAIN: 'local' },
    probe: ['go', 'version'],
  })

  testLanguage('in Java', {
    fence: 'java',
    snippet: { file: 'Webhooks.java' },
    files: {
      'Main.java': `
class Main {
  public static void main(String[] args) throws Exception {
    var isGenuine = Webhooks.isGenuine(args[0], System.in.readAllBytes(), args[1]);
    System.out.println(isGenuine ? "genuine" : "forged");
  }
}
`,
    },
    build: ['javac', 'Main.java', 'Webhooks.java'],
    run: ['java', 'Main'],
    probe: ['javac', '-version'],
  })

  testLanguage('in C#', {
    fence: 'csharp',
    snippet: { file: 'Webhooks.cs' },
    files: {
      'Main.cs': `
using System;
using System.IO;

static class Program
{
    static void Main(string[] args)
    {
        var body = new MemoryStream();
        Console.OpenStandardInput().CopyTo(body);
        Console.WriteLine(Webhooks.IsGenuine(args[0], body.ToArray(), args[1]) ? "genuine" : "forged");
    }
}
`,
    },
    build: ['mcs', '-out:verify.exe', 'Main.cs', 'Webhooks.cs'],
    run: ['mono', 'verify.exe'],
    probe: ['mcs', '--version'],
  })
})
