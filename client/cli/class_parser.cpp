// Parses the words of the class commands.

#include "client/cli/command_parser.hpp"

namespace exchange::cli {

CLI::App* CommandParser::command_of_class(const std::string& name, const std::string& words,
                                          const char* text, std::function<Command()> make) {
  CLI::App* const app = command("class " + name, words, "Class", text, std::move(make));
  app->add_option("--folder", folder_,
                  "what you keep of the class: keys, scenario, log of the bots")
      ->type_name("FOLDER")
      ->default_val("class");
  return app;
}

void CommandParser::add(Of<InitClass>) {
  CLI::App* const app = command_of_class(
      "init", "ROSTER SCENARIO", "accounts, keys and instruments of a class", [this] {
        return InitClass{folder_, words_[0], words_[1], list_, column_};
      });
  app->add_option("--name-column", list_,
                  "column of the roster with the names for the leaderboard; twice: first and last "
                  "name (default: as its heading says)")
      ->type_name("COLUMN")
      ->allow_extra_args(false);
  app->add_option("--id-column", column_,
                  "column that tells students apart, each time that the class gets another roster "
                  "(default: as its heading says)")
      ->type_name("COLUMN");
  app->add_option("ROSTER", words_[0],
                  "CSV of the students, one on a line below the names of the columns")
      ->check(CLI::ExistingFile)
      ->required();
  app->add_option("SCENARIO", words_[1], "TOML: course/docs/class.md#scenario")
      ->check(CLI::ExistingFile)
      ->required();
}

void CommandParser::add(Of<StartClass>) {
  command_of_class("start", "[--round NAME]", "open trading, and let the bots trade",
                   [this] {
                     return StartClass{folder_, round_};
                   })
      ->add_option("--round", round_, "begin a round of the leaderboard (without: the first one)")
      ->type_name("NAME");
}

void CommandParser::add(Of<PauseClass>) {
  command_of_class("pause", "", "halt trading, until 'class start'",
                   [this] { return PauseClass{folder_}; });
}

void CommandParser::add(Of<StopClass>) {
  command_of_class("stop", "", "halt trading, then end the bots",
                   [this] { return StopClass{folder_}; });
}

void CommandParser::add(Of<NewClassDay>) {
  command_of_class("new-day", "NAME", "close the day under this name, and begin with the scenario",
                   [this] {
                     return NewClassDay{folder_, words_[0]};
                   })
      ->add_option("NAME", words_[0],
                   "of the day that ends: lower-case letters, digits, and hyphens between them")
      ->required();
}

void CommandParser::add(Of<ShowClass>) {
  command_of_class("status", "", "how the class trades", [this] { return ShowClass{folder_}; });
}

void CommandParser::add(Of<ExportClass>) {
  command_of_class("export", "[--to FOLDER]", "results of all students and rounds, as CSV",
                   [this] {
                     return ExportClass{folder_, to_};
                   })
      ->add_option("--to", to_, "where the files go")
      ->type_name("FOLDER")
      ->default_val("results");
}

}  // namespace exchange::cli
